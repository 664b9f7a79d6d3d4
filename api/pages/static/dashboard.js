// Thresholds on the dashboard: sliders and the line in the chart move together; the figures are added up from counts.
"use strict";

(() => {
  const form = document.getElementById("threshold");
  if (!form) return;
  const ladder = JSON.parse(form.dataset.ladder);
  const [keep, discard] = ["keep", "discard"].map((name) => document.getElementById(name));
  const svg = form.querySelector(".drag svg");

  const hundredths = (slider) => Math.round(parseFloat(slider.value) * 100);
  const keeps = (value, threshold) => (ladder.basis === "score" ? value > threshold : value >= threshold);
  const percent = (share) => `${(Math.floor(share * 1000 + 0.5) / 10).toFixed(1)} %`;
  const total = ladder.steps.reduce((sum, [, n]) => sum + n, ladder.without);

  const standing = (upper, lower) => {
    const now = { kept: 0, discarded: 0, labelled: 0, right: 0, ends: null };
    for (const [value, n, labelled, right, ...ends] of ladder.steps) {
      if (keeps(value, upper)) {
        now.ends ??= ends; // of all from the lowest kept step on
        now.kept += n;
        now.labelled += labelled;
        now.right += right;
      } else if (!keeps(value, lower)) now.discarded += n;
    }
    now.asked = total - now.kept - now.discarded;
    return now;
  };

  const say = (name, words) => (document.getElementById(`now-${name}`).textContent = words);

  const draw = (coverage, precision) => {
    if (!svg) return;
    const [left, right, top, bottom, lowest] = JSON.parse(form.dataset.plane);
    const x = left + coverage * (right - left);
    const share = (Math.max(precision ?? lowest, lowest) - lowest) / (1 - lowest);
    const line = document.getElementById("precision-line"), dot = document.getElementById("precision-dot");
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    dot.setAttribute("cx", x);
    dot.setAttribute("cy", bottom - share * (bottom - top));
    dot.setAttribute("visibility", precision === null ? "hidden" : "visible");
  };

  let remembering = 0;
  const remember = () => {
    clearTimeout(remembering);
    remembering = setTimeout(() => {
      const address = new URL(location.href);
      address.searchParams.set("keep", keep.value);
      address.searchParams.set("discard", discard.value);
      history.replaceState(history.state, "", address);
    }, 250);
  };

  const show = () => {
    const upper = hundredths(keep), lower = Math.min(upper, hundredths(discard));
    const now = standing(upper, lower);
    for (const [slider, value] of [[keep, upper], [discard, lower]]) {
      const words = (value / 100).toFixed(2);
      document.getElementById(`${slider.id}-value`).textContent = words;
      slider.setAttribute("aria-valuetext", words);
    }
    const precision = now.labelled ? now.right / now.labelled : null;
    say("precision", precision === null ? "none" : percent(precision));
    say("interval", precision === null ? "no kept judgment has a label"
      : `${now.ends.map(percent).join(" to ")}, ${now.labelled} labelled`);
    say("coverage", total ? percent(now.kept / total) : "none");
    for (const name of ["kept", "asked", "discarded"]) say(name, String(now[name]));
    draw(total ? now.kept / total : 0, precision);
  };

  // Whichever of the two is moved pushes the other one before it.
  keep.addEventListener("input", () => {
    if (hundredths(discard) > hundredths(keep)) discard.value = keep.value;
    show();
    remember();
  });
  discard.addEventListener("input", () => {
    if (hundredths(discard) > hundredths(keep)) keep.value = discard.value;
    show();
    remember();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("apply").hidden = true; // for those without this file

  if (svg) {
    form.querySelector(".drag").classList.add("ready");
    const [left, right] = JSON.parse(form.dataset.plane);
    const step = Math.round(parseFloat(keep.step) * 100);
    const places = [];
    for (let value = ladder.low; value <= ladder.high; value += step) places.push([value, standing(value, value).kept / total]);

    // The threshold whose coverage is nearest to where the pointer is.
    const follow = (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      const wanted = (x - left) / (right - left);
      const nearest = places.reduce((best, one) => (Math.abs(one[1] - wanted) < Math.abs(best[1] - wanted) ? one : best));
      keep.value = nearest[0] / 100;
      keep.dispatchEvent(new Event("input", { bubbles: true }));
    };
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      svg.setPointerCapture(event.pointerId);
      follow(event);
      event.preventDefault();
    });
    svg.addEventListener("pointermove", (event) => {
      if (svg.hasPointerCapture(event.pointerId)) follow(event);
    });
  }
  show();
})();
