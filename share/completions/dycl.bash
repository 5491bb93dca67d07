# Written by scripts/help_pages.py: completion of dycl and dycl-run for bash.
_dycl() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words
  if [[ $before == --backend ]]; then
    COMPREPLY=($(compgen -W "ort openvino tvm auto" -- "$word"))
    return
  fi
  if [[ $COMP_CWORD -eq 1 && $word != -* ]]; then
    COMPREPLY=($(compgen -W "$(_dycl_words "$1" commands)" -- "$word"))
    [[ ${1##*/} == dycl-run ]] && COMPREPLY+=($(compgen -f -- "$word"))
    return
  fi
  [[ $COMP_CWORD -eq 1 ]] && command=""
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$(_dycl_words "$1" "$command")" -- "$word"))
    return
  fi
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$word"))
}

_dycl_words() {
  case "${1##*/} $2" in
    "dycl commands") echo "compile run bench profile inspect opt emit keygen encrypt decrypt sign check-signature explain verify view" ;;
    "dycl compile") echo "--allow-raise --allow-training --arg --backend --budget --dump --dynamic-arg --eval --help --input --jobs --json --no-cache --no-verify --output --overridable --portable --quiet --range --require-signature --retarget --seed --skip-passes --strip --tf-python --threads --tune --weights -h -o -q" ;;
    "dycl run") echo "--allow-native-code --deadline --decryption-key --dim --expect --help --input --json --loop-limit --memory-limit --output --plugins --portable --quiet --random --repeat --require-signature --seed --spinning --step-limit --threads --tolerance --trace --verify -h -o -q" ;;
    "dycl bench") echo "--allow-native-code --allow-training --arg --count --deadline --decryption-key --dim --dynamic-arg --eval --help --input --json --limit --loop-limit --memory-limit --peers --plugins --portable --quiet --random --range --require-signature --runs --seconds --seed --spinning --step-limit --threads --verify --warmup --without -h -q" ;;
    "dycl profile") echo "--allow-native-code --chrome-trace --deadline --decryption-key --dim --help --inputs --json --loop-limit --memory-limit --output --plugins --portable --quiet --random --repeat --require-signature --seed --spinning --step-limit --threads --verify --warmup -h -o -q" ;;
    "dycl inspect") echo "--decryption-key --help --ir --json --quiet --require-signature --verify -h -q" ;;
    "dycl opt") echo "--help --json --list --output --passes --quiet --skip-passes --spans -h -o -q" ;;
    "dycl emit") echo "--engine-ops --help --json --name --onnx --output --quiet --require-signature --watch -h -o -q" ;;
    "dycl keygen") echo "--encryption --help --json --quiet -h -q" ;;
    "dycl encrypt") echo "--help --json --key --output --quiet -h -o -q" ;;
    "dycl decrypt") echo "--help --json --key --output --quiet -h -o -q" ;;
    "dycl sign") echo "--help --json --key --output --quiet -h -o -q" ;;
    "dycl check-signature") echo "--decryption-key --help --json --key --quiet -h -q" ;;
    "dycl explain") echo "--allow-training --arg --dynamic-arg --eval --help --input --json --range --seed -h" ;;
    "dycl verify") echo "--atol --count --help --json --no-drive --rtol --seed -h" ;;
    "dycl view") echo "--decryption-key --help --json --output --profile --require-signature -h -o" ;;
    "dycl "*) echo "--help --version -h" ;;
    "dycl-run commands") echo "bench" ;;
    "dycl-run bench") echo "--allow-native-code --deadline --decryption-key --dim --help --input --json --loop-limit --memory-limit --plugins --portable --quiet --random --require-signature --runs --seconds --seed --spinning --step-limit --threads --verify --warmup -h -q" ;;
    "dycl-run "*) echo "--allow-native-code --deadline --decryption-key --dim --expect --help --input --json --loop-limit --memory-limit --output --plugins --portable --quiet --random --repeat --require-signature --seed --spinning --step-limit --threads --tolerance --trace --verify --version -h -o -q" ;;
  esac
}

complete -F _dycl dycl dycl-run
