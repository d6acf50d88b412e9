"""The completions of bash, zsh and fish.

Lists that change (processes, marks) are asked of heaptape itself: heaptape --complete pids|moments [WORDS of the line].
"""

BASH_KINDS = {
    "files": "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$word\"))",
    "folders": "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$word\"))",
    "pids": "_heaptape_lines pids",
    "moments": "_heaptape_lines moments",
    "tapes": "_heaptape_tapes",
    "other": "COMPREPLY=()",
}


def bash_values(page):
    """The branches of a case on the option before the word."""
    out = []
    for value in page.value_options():
        if value.place == "attached" and not value.choices:
            continue
        if value.place in ("maybe", "attached") and value.kind == "other":
            continue
        names = "|".join(value.names)
        action = f"COMPREPLY=($(compgen -W '{' '.join(value.choices)}' -- \"$word\"))" if value.choices else BASH_KINDS[value.kind]
        out.append(f"        {names}) {action}; return ;;")
    return "\n".join(out)


def option_words(page):
    return [name for value in page.values if value.place != "word" for name in value.names] + ["--help"]


def bash_completion(pages):
    cases = []
    for page in pages:
        cases.append(f"    {page.name})\n      options='{' '.join(option_words(page))}'\n      case $before in\n{bash_values(page)}\n"
                     f"        '') ;;\n      esac ;;")
    taking = sorted({name for page in pages if page.name == "record" for value in page.value_options() if value.place == "next"
                     for name in value.names})
    names = " ".join(page.name for page in pages)
    return f"""# bash completion of heaptape; made by tools/make_manual.py
_heaptape_tapes() {{
  compopt -o filenames
  COMPREPLY=($(compgen -f -X '!*.tape' -- "$word") $(compgen -d -- "$word"))
}}
# What heaptape lists, a line each; what stands behind a tab is for people.
_heaptape_lines() {{
  local line IFS=$'\\n'
  while read -r line; do
    line=${{line%%$'\\t'*}}
    [[ $line == "$word"* ]] && COMPREPLY+=("$(printf %q "$line")")
  done < <("${{COMP_WORDS[0]}}" --complete "$1" "${{COMP_WORDS[@]:1}}" 2>/dev/null)
}}
_heaptape() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]}} options='' i
  COMPREPLY=()
  # "--by=fun" comes as three words.
  if [[ $word == = ]]; then word=''; elif [[ $before == = ]]; then before=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
  if ((COMP_CWORD == 1)); then
    if [[ $word == */* ]]; then
      compopt -o filenames
      COMPREPLY=($(compgen -f -- "$word"))
      return
    fi
    COMPREPLY=($(compgen -W '{names} help --help --version' -- "$word") $(compgen -f -X '!*.tape' -- "$word"))
    return
  fi
  case $command in
    help) COMPREPLY=($(compgen -W '{names}' -- "$word")); return ;;
{chr(10).join(cases)}
  esac
  if [[ $command == record ]]; then
    # What follows the program is the program's.
    for ((i = 2; i < COMP_CWORD; ++i)); do
      case ${{COMP_WORDS[i]}} in
        --) ((++i)); break ;;
        {'|'.join(taking) or '--none'}) ((++i)) ;;
        -*|=) ;;
        *) break ;;
      esac
    done
    if ((i < COMP_CWORD)) && declare -F _command_offset >/dev/null; then
      _command_offset "$i"
      return
    fi
    if [[ $word != -* ]]; then
      compopt -o filenames
      COMPREPLY=($(compgen -c -- "$word") $(compgen -f -- "$word"))
      return
    fi
  fi
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    _heaptape_tapes
  fi
}}
complete -F _heaptape heaptape
"""


def zsh_text(text):
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


ZSH_KINDS = {"files": "_files", "folders": "_files -/", "pids": "_heaptape_lines pids", "moments": "_heaptape_lines moments",
             "tapes": '_files -g "*.tape"', "other": " "}


def zsh_option(value):
    text, out = zsh_text(value.text), []
    for name in value.names:
        if value.place == "none":
            out.append(f"'*{name}[{text}]'")
            continue
        action = f"({' '.join(value.choices)})" if value.choices else ZSH_KINDS[value.kind]
        # An attached value comes behind "="; one that may be left out has two colons.
        joint = {"attached": "=-", "next": "=" if name.startswith("--") else "", "series": ""}.get(value.place, "")
        colons = "::" if value.place in ("maybe", "attached") else ":"
        out.append(f"'*{name}{joint}[{text}]{colons}{zsh_text(value.name.strip('[]=') or 'value')}:{action}'")
    return out


def zsh_completion(pages):
    names = "\n".join(f"    '{page.name}:{zsh_text(page.purpose)}'" for page in pages)
    cases = []
    for page in pages:
        words = " \\\n      ".join([*(word for value in page.values if value.place != "word" for word in zsh_option(value)),
                                    "'--help[show this help]'"])
        rest = "'*::program:_normal'" if page.name == "record" else "'*:tape:_files -g \"*.tape\"'"
        cases.append(f"    {page.name}) _arguments -s {words} \\\n      {rest} ;;")
    return f"""#compdef heaptape
# zsh completion of heaptape; made by tools/make_manual.py
# What heaptape lists, a line each; what stands behind a tab describes it.
_heaptape_lines() {{
  local -a found
  local line tab=$'\\t'
  for line in ${{(f)"$($_heaptape_program --complete $1 $words 2>/dev/null)"}}; do
    found+=("${{${{line%%$tab*}}//:/\\\\:}}:${{line#*$tab}}")
  done
  _describe -V $1 found
}}
_heaptape() {{
  local -a commands
  local _heaptape_program=$words[1]
  commands=(
{names}
  )
  if ((CURRENT == 2)); then
    _describe command commands
    _files
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
{chr(10).join(cases)}
    help) _describe command commands ;;
  esac
}}
_heaptape "$@"
"""


def fish_text(text):
    return text.replace("\\", "\\\\").replace("'", "\\'")


FISH_KINDS = {"files": " -r -F", "folders": " -x -a '(__fish_complete_directories)'",
              "pids": " -x -a '(heaptape --complete pids 2>/dev/null)'",
              "moments": " -x -a '(heaptape --complete moments (commandline -opc)[2..-1] 2>/dev/null)'",
              "tapes": " -x -a '(__fish_complete_suffix .tape)'", "other": " -x"}


def fish_completion(pages):
    out = ["# fish completion of heaptape; made by tools/make_manual.py", "complete -c heaptape -f"]
    for page in pages:
        out.append(f"complete -c heaptape -n __fish_use_subcommand -a {page.name} -d '{fish_text(page.purpose)}'")
    out.append("complete -c heaptape -n __fish_use_subcommand -k -a '(__fish_complete_suffix .tape)'")
    for page in pages:
        seen = f"-n '__fish_seen_subcommand_from {page.name}'"
        for value in page.values:
            if value.place == "word":
                continue
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in value.names)
            more = ""
            if value.place != "none":
                more = f" -x -a '{' '.join(value.choices)}'" if value.choices else FISH_KINDS[value.kind]
            if value.place in ("attached", "maybe"):
                more = more.replace(" -x", " -f").replace(" -r", "")
            out.append(f"complete -c heaptape {seen} {names}{more} -d '{fish_text(value.text)}'")
        what = "-a '(__fish_complete_subcommand)'" if page.name == "record" else "-a '(__fish_complete_suffix .tape)'"
        out.append(f"complete -c heaptape {seen} -k {what}")
    return "\n".join(out) + "\n"
