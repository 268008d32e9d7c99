# shellcheck shell=bash
# Sourced by the other scripts: run one stage after another, one line each. What a stage prints
# goes to build/log/NAME.log and is shown only when the stage fails; on a terminal the log's last
# line is shown while the stage runs.

export LC_ALL=C.UTF-8  # decimal points in the seconds below
stage_number=0
stage_watcher=

# stage TITLE LOGNAME COMMAND...
stage() {
  local title=$1 log=build/log/$2.log start=$EPOCHREALTIME status
  shift 2
  mkdir -p build/log
  : >"$log"
  stage_number=$((stage_number + 1))
  start_watching "$title" "$log"
  # Not `|| status=$?`: that would switch off `set -e` inside the stage.
  set +e
  (set -e; "$@") >"$log" 2>&1 </dev/null
  status=$?
  set -e
  stop_watching
  printf '%2d  %-40s%6.1f s' "$stage_number" "$title" "$(seconds_since "$start")"
  if [[ $status -eq 0 ]]; then
    printf '\n'
    return 0
  fi
  printf '  FAILED\n\n'
  tail -n 200 "$log"
  printf '\n%s failed; the whole log is %s\n' "$title" "$log"
  exit 1
}

start_watching() {
  [[ -t 1 ]] || return 0
  while true; do
    printf '\r\e[K%2d  %-40s%s' "$stage_number" "$1" "$(tail -n 1 "$2" | tr -dc '[:print:]' | cut -c 1-36)"
    sleep 0.3
  done &
  stage_watcher=$!
  trap stop_watching EXIT
}

stop_watching() {
  [[ -n $stage_watcher ]] || return 0
  kill "$stage_watcher" 2>/dev/null || true
  wait "$stage_watcher" 2>/dev/null || true
  stage_watcher=
  printf '\r\e[K'
}

seconds_since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }'; }
