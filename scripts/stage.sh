# shellcheck shell=bash
# Sourced by the other scripts: runs one stage after another, one line each. The output of a stage
# goes to build/log/NAME.log and is shown only if the stage fails. While it runs, the log's last
# line is shown: at once on a terminal, every quarter of a minute elsewhere.

export LC_ALL=C.UTF-8  # decimal points in the seconds below
stage_number=0
stage_watcher=
stage_seconds=15  # between two lines where there is no terminal

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
  # Skips tests that passed; otherwise the last lines might show nothing else.
  grep -v -E '^ +Start +[0-9]+:| Passed +[0-9.]+ sec$' "$log" | tail -n 200
  printf '\n%s failed; the whole log is %s\n' "$title" "$log"
  exit 1
}

start_watching() {
  if [[ -t 1 ]]; then
    watch_in_place "$@" &
  else
    watch_in_lines "$@" &
  fi
  stage_watcher=$!
  trap stop_watching EXIT
}

last_line() { tail -n 1 "$1" | tr -dc '[:print:]' | cut -c "1-$2"; }

watch_in_place() {
  while true; do
    printf '\r\e[K%2d  %-40s%s' "$stage_number" "$1" "$(last_line "$2" 36)"
    sleep 0.3
  done
}

# Waits for input that never comes: `sleep` would outlive this process and hold the pipe open.
watch_in_lines() {
  local start=$EPOCHREALTIME never
  exec {never}<> <(:)
  while true; do
    read -r -t "$stage_seconds" -u "$never" || true
    printf '    %-40s%6.0f s  %s\n' "$1" "$(seconds_since "$start")" "$(last_line "$2" 72)"
  done
}

stop_watching() {
  [[ -n $stage_watcher ]] || return 0
  kill "$stage_watcher" 2>/dev/null || true
  wait "$stage_watcher" 2>/dev/null || true
  stage_watcher=
  [[ ! -t 1 ]] || printf '\r\e[K'
}

seconds_since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }'; }
