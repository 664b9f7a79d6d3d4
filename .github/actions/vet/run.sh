#!/usr/bin/env bash
# Runs metajudge on the action's inputs, which come as environment variables; writes the job's summary and outputs.
set -euo pipefail

out="${METAJUDGE_ACTION_OUT:-}"
out="${out%%[$'\r\n']*}"
out="${out:-${RUNNER_TEMP:-/tmp}/metajudge}"
mkdir -p "$out"
command="${METAJUDGE_ACTION_COMMAND:-vet}"
json="$out/$command.json"
comment="$out/comment.md"
arguments=()

# one option for each line of a variable that is not blank
each() {
  local line
  while IFS= read -r line || [ -n "$line" ]; do
    line="${line%$'\r'}"
    if [ -n "${line//[[:space:]]/}" ]; then
      arguments+=("$1=$line")
    fi
  done <<<"$2"
}

each --labels "${METAJUDGE_ACTION_LABELS:-}"
case "$command" in
  vet)
    each --agent "${METAJUDGE_ACTION_AGENTS:-}"
    each --config "${METAJUDGE_ACTION_CONFIG:-}"
    each --calibration "${METAJUDGE_ACTION_CALIBRATION:-}"
    each --fail-under "${METAJUDGE_ACTION_FAIL_UNDER:-}"
    each --budget-usd "${METAJUDGE_ACTION_BUDGET_USD:-}"
    arguments+=("--store=$out/metajudge.db" "--out=$out/assessments.jsonl" "--markdown=$comment")
    ;;
  audit)
    each --fail-on "${METAJUDGE_ACTION_FAIL_ON:-}"
    arguments+=("--out=$out/audit")
    ;;
  *)
    echo "::error::the input command is vet or audit, not something else" >&2
    exit 2
    ;;
esac

files=()
while IFS= read -r line || [ -n "$line" ]; do
  line="${line%$'\r'}"
  if [ -n "${line//[[:space:]]/}" ]; then
    files+=("$line")
  fi
done <<<"${METAJUDGE_ACTION_FILES:-}"
if [ "${#files[@]}" -eq 0 ]; then
  echo "::error::the input files names no file" >&2
  exit 2
fi

rm -f "$comment" "$out/audit/card.md"
code=0
metajudge "$command" "${arguments[@]}" --json -- "${files[@]}" >"$json" 2>"$out/messages.txt" || code=$?
mark="metajudge-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
# what a file says is shown and is no command to the runner
[ -z "${GITHUB_ACTIONS:-}" ] || echo "::stop-commands::$mark"
cat "$out/messages.txt" >&2
[ -z "${GITHUB_ACTIONS:-}" ] || echo "::$mark::"
if [ "$command" = audit ] && [ -f "$out/audit/card.md" ]; then
  cp "$out/audit/card.md" "$comment"
fi
if [ ! -f "$comment" ]; then
  { printf '### metajudge %s ended with exit code %s\n\n' "$command" "$code"; sed 's/^/    /' "$out/messages.txt"; } >"$comment"
fi
# a comment has at most 65,536 characters
if [ "$(wc -c <"$comment")" -gt 60000 ]; then
  { head -c 60000 "$comment" | iconv -c -f UTF-8 -t UTF-8; printf '\n\n(cut here)\n'; } >"$comment.part"
  mv "$comment.part" "$comment"
fi

if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  cat "$comment" >>"$GITHUB_STEP_SUMMARY"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  {
    printf 'exit-code=%s\ncomment-file=%s\njson-file=%s\n' "$code" "$comment" "$json"
    printf 'comment<<%s\n' "$mark"
    cat "$comment"
    printf '\n%s\n' "$mark"
  } >>"$GITHUB_OUTPUT"
fi
exit "$code"
