// Keys, dialogs and the form token; every page works without this file.
"use strict";

(() => {
  const typing = (element) =>
    element.matches("textarea, select, [contenteditable]") ||
    (element.matches("input") && !["radio", "checkbox", "submit", "button"].includes(element.type));
  const shown = (element) => element.checkVisibility() && !element.disabled;

  // Elements that need this file are hidden until it runs.
  const wake = (root) => root.querySelectorAll("[data-opens][hidden]").forEach((one) => (one.hidden = false));
  wake(document);

  // data-focus: what Enter should press first; without the jump that autofocus makes on a phone.
  const first = document.querySelector("[data-focus]");
  if (first && document.activeElement === document.body) first.focus({ preventScroll: true });

  // data-key="x": the key clicks a button or a link, chooses a radio button, focuses a field.
  const press = (element) => {
    if (element.matches("input[type=radio], input[type=checkbox]")) {
      element.click();
      const next = element.dataset.then && document.getElementById(element.dataset.then);
      (next || element).focus();
    } else if (typing(element)) {
      element.focus();
    } else {
      element.click();
    }
  };

  // data-rows: j and k go through the elements marked data-row.
  const step = (direction) => {
    const rows = [...document.querySelectorAll("[data-rows] [data-row]")].filter(shown);
    if (!rows.length) return false;
    const at = rows.indexOf(document.activeElement);
    const next = at < 0 ? (direction > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + direction));
    rows[next].focus();
    return true;
  };

  // g, then the letter of a page in the navigation (data-go).
  let goes = 0;
  const go = (event) => {
    const wanted = Date.now() < goes && [...document.querySelectorAll("[data-go]")].find((one) => one.dataset.go === event.key);
    goes = event.key === "g" && !wanted ? Date.now() + 1500 : 0;
    if (wanted) wanted.click();
    return Boolean(wanted) || goes > 0;
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat && event.key !== "j" && event.key !== "k") return;
    const active = document.activeElement || document.body;
    if (event.key === "Escape" && typing(active)) return active.blur();
    if (typing(active) || document.querySelector("dialog[open]")) return;
    if (go(event)) return event.preventDefault();
    const marked = [...document.querySelectorAll("[data-key]")].find(
      (element) => element.dataset.key === event.key && shown(element)
    );
    if (marked) {
      event.preventDefault();
      press(marked);
    } else if ((event.key === "j" || event.key === "k") && step(event.key === "j" ? 1 : -1)) {
      event.preventDefault();
    }
  });

  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    if (opener) document.getElementById(opener.dataset.opens).showModal();
  });

  // A form marked data-auto is sent as soon as something in it changes.
  document.addEventListener("change", (event) => {
    const form = event.target.form;
    if (form && form.matches("[data-auto]")) form.requestSubmit();
  });

  // data-saved: filters of this page, saved by name in this browser.
  const saved = document.querySelector("[data-saved]");
  if (saved) {
    const key = `metajudge-filters ${location.pathname}`;
    const read = () => {
      try { return Object.entries(JSON.parse(localStorage.getItem(key)) || {}); } catch { return []; }
    };
    const write = (entries) => localStorage.setItem(key, JSON.stringify(Object.fromEntries(entries)));
    const show = () => {
      saved.querySelector("ul").replaceChildren(...read().map(([name, query]) => {
        const [line, link, drop] = ["li", "a", "button"].map((tag) => document.createElement(tag));
        link.textContent = name;
        link.className = "button";
        link.href = `${location.pathname}?${new URLSearchParams(query)}`;
        drop.type = "button";
        drop.className = "link";
        drop.textContent = "delete";
        drop.setAttribute("aria-label", `Delete the saved filters ${name}`);
        drop.addEventListener("click", () => { write(read().filter(([one]) => one !== name)); show(); });
        line.append(link, drop);
        return line;
      }));
    };
    saved.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      const given = new URLSearchParams(location.search);
      ["before", "after", "cursor", "done"].forEach((name) => given.delete(name));
      const name = event.target.elements.name.value.trim();
      if (name) write([...read().filter(([one]) => one !== name), [name, String(given)]]);
      event.target.reset();
      show();
    });
    saved.hidden = false;
    show();
  }

  // What htmx sends carries the form token, too.
  document.addEventListener("htmx:config:request", (event) => {
    const token = document.querySelector("meta[name=csrf]");
    if (token) event.detail.ctx.request.headers["X-CSRF-Token"] = token.content;
  });
  document.addEventListener("htmx:after:swap", () => wake(document));
})();
