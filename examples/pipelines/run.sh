#!/bin/sh
# The assets of a manifest on any machine, from cron or another CI: brings back what earlier runs have left, runs, keeps
# what this run has left, and makes a contact sheet. Ends as modelgate run does.
#   run.sh FOLDER --generate --max-creates 100
# FOLDER outlives the checkout, and belongs to this manifest alone. In it are the store, and the newest contact sheet.
set -u
keep=${1:?usage: run.sh FOLDER [flags of modelgate run]}
shift
mkdir -p "$keep" || exit 10
# Two at once would pay for the same assets.
mkdir "$keep/lock" || {
  echo "Another run works with $keep. If there is none, remove $keep/lock" >&2
  exit 10
}
trap 'rmdir "$keep/lock"' EXIT

if [ ! -e .modelgate ] && [ -e "$keep/store" ]; then
  cp -Rp "$keep/store" .modelgate || exit 10
fi

# A signal goes to modelgate, which ends in good order; then the rest is done.
modelgate run "$@" &
child=$!
trap 'kill -TERM "$child"' HUP INT TERM
wait "$child"
code=$?
while kill -0 "$child" 2>/dev/null; do
  wait "$child"
  code=$?
done
trap '' HUP INT TERM

modelgate run report --embed -o "$keep/contact-sheet.html" >/dev/null || echo 'There is no contact sheet.' >&2
# The old one is there until the new one is whole.
keep_state() {
  rm -rf "$keep/new" && cp -Rp .modelgate "$keep/new" && rm -rf "$keep/store" && mv "$keep/new" "$keep/store"
}
if [ -e .modelgate ] && ! keep_state; then
  echo 'What this run has left could not be kept: do not throw .modelgate away.' >&2
  [ "$code" -ne 0 ] || code=10
fi
exit "$code"
