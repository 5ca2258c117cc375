#!/usr/bin/env bash
# Makes an English-Chinese corpus from texts that Debian ships: scripts/demo_corpus.sh DIR [ZHUYI]
#
# Downloads packages (nothing is installed), takes the bilingual texts out of them, and writes DIR/corpus.tsv,
# DIR/corpus.valid.tsv and DIR/corpus.test.tsv with the program ZHUYI (default: build/release/zhuyi). Held-out documents
# are pages of the LibreOffice help. Licences go to DIR/licences/. Running it again downloads nothing twice;
# remove DIR/corpus.tsv to make the corpus anew.
set -euo pipefail

# Pages in two languages.
help_packages=(libreoffice-help-en-us libreoffice-help-zh-cn)
# Catalogues of messages, chosen for much Chinese text in a small package.
catalogue_packages=(
  libreoffice-l10n-zh-cn git gnucash-common vlc-l10n krita-l10n evolution-common gimp-data inkscape coreutils
  binutils-common e2fsprogs-l10n util-linux-locales subversion pidgin-data kdevelop-l10n gnupg-l10n libc-l10n
  sylpheed-i18n libparted-i18n hexchat-common network-manager dpkg wget ktexteditor-data gettext audacity-data
  mypaint-data libglib2.0-data gramps evolution-data-server-common amule-common ktorrent-data thunar-data
  gnumeric-common gnome-software-common digikam-data network-manager-gnome cinnamon-l10n libgtk-3-common nautilus-data
)

say() { printf '%s\n' "$*" >&2; }

usage() {
  say "usage: scripts/demo_corpus.sh DIR [ZHUYI]"
  exit 2
}

# The file of a package that is downloaded already; empty without one.
package_file() {
  local file
  for file in "$packages/$1"_*.deb; do
    if [[ -e $file ]]; then
      printf '%s' "$file"
      return
    fi
  done
}

# Downloads packages into a folder of their own, and moves those that are complete.
apt_download() {
  local options=(-qq)
  if [[ $(id -u) -eq 0 ]]; then options+=(-o APT::Sandbox::User=root); fi
  rm -rf "$packages/partial"
  mkdir -p "$packages/partial"
  local failed=0
  (cd "$packages/partial" && apt-get "${options[@]}" download "$@") >"$directory/apt.log" 2>&1 || failed=1
  if [[ $failed -eq 0 ]]; then
    find "$packages/partial" -name '*.deb' -exec mv -t "$packages" {} +
  fi
  rm -rf "$packages/partial"
  return "$failed"
}

download() {
  local package missing=()
  for package in "$@"; do
    if [[ -z $(package_file "$package") ]]; then missing+=("$package"); fi
  done
  if [[ ${#missing[@]} -eq 0 ]]; then return; fi
  say "Downloading ${#missing[@]} packages (about 135 MB for all; they are not installed) ..."
  if apt_download "${missing[@]}"; then return; fi
  # One that cannot be had stops them all: one at a time then.
  local unreachable=0
  for package in "${missing[@]}"; do
    if [[ $unreachable -ge 2 ]]; then
      say "  $package is left out as well"
    elif apt_download "$package"; then
      unreachable=0
    else
      say "  $package cannot be had and is left out: $(grep -m 1 '^E:' "$directory/apt.log" || echo 'see apt.log')"
      # Without a network each would take its time to fail.
      if grep -q -i -e 'resol' -e 'connect' -e 'timed out' "$directory/apt.log"; then unreachable=$((unreachable + 1)); fi
    fi
  done
}

# Takes the texts and the licence out of a package, once.
unpack() {
  local package=$1 file folder
  folder="$texts/$package"
  if [[ -e $folder/complete ]]; then return; fi
  file=$(package_file "$package")
  if [[ -z $file ]]; then return; fi
  rm -rf "$folder"
  mkdir -p "$folder"
  if ! dpkg-deb --fsys-tarfile "$file" >"$folder/files.tar"; then
    say "  $package is damaged and left out; run this again to download it anew"
    rm -rf "$folder" "$file"
    return
  fi
  # tar complains of patterns that match nothing, which is normal here.
  tar -xf "$folder/files.tar" -C "$folder" --wildcards './usr/share/locale*/zh_CN/LC_MESSAGES/*.mo' \
    './usr/lib/libreoffice/program/resource/zh_CN/*' './usr/share/libreoffice/help/*/text/*' \
    './usr/share/doc/*/copyright' 2>/dev/null || true
  rm "$folder/files.tar"
  : >"$folder/complete"
}

# Keeps a package's licence beside the corpus.
keep_licence() {
  local package=$1 copyright
  copyright="$texts/$package/usr/share/doc/$package/copyright"
  if [[ -f $copyright ]]; then cp "$copyright" "$licences/$package.copyright"; fi
}

# The names of the licences that a copyright file in Debian's machine-readable form states.
licence_names() {
  sed -n 's/^License: *\([^ ].*\)/\1/p' "$1" | sort -u | paste -s -d ',' | sed 's/,/, /g; s/^\(.\{90\}[^,]*\).*/\1, .../'
}

list_licences() {
  local file names
  say "Licences of the texts (in full in $licences):"
  for file in "$licences"/*.copyright; do
    [[ -e $file ]] || continue
    names=$(licence_names "$file")
    say "  $(basename "$file" .copyright): ${names:-see its file}"
  done
}

make_corpus() {
  local sources=() package help
  local english="$texts/libreoffice-help-en-us/usr/share/libreoffice/help/en-US"
  local chinese="$texts/libreoffice-help-zh-cn/usr/share/libreoffice/help/zh-CN"
  help=()
  if [[ -d $english && -d $chinese ]]; then
    sources+=("html:$english,$chinese")
    help=(--hold-out-documents '^text/')
  else
    say "Without the LibreOffice help, parts of catalogues are held out instead."
  fi
  for package in "${catalogue_packages[@]}"; do
    if [[ -n $(find "$texts/$package" -name '*.mo' -print -quit 2>/dev/null) ]]; then
      sources+=("mo:$texts/$package")
    fi
  done
  if [[ ${#sources[@]} -eq 0 ]]; then
    say "None of the packages with texts could be had. Is there a network, and has 'apt-get update' been run?"
    exit 1
  fi
  local stamp="$directory/corpus.sources"
  if [[ -e $directory/corpus.tsv && -e $directory/corpus.valid.tsv && -e $directory/corpus.test.tsv &&
    -e $stamp && $(<"$stamp") == "${sources[*]}" ]]; then
    say "The corpus is there: $directory/corpus.tsv"
    return
  fi
  say "Making the corpus ..."
  "$zhuyi" corpus "${sources[@]}" -o "$directory/corpus.tsv" --hold-out 'valid=0.7%,test=0.7%' "${help[@]}"
  printf '%s' "${sources[*]}" >"$stamp"
}

[[ $# -ge 1 && $# -le 2 && $1 != -* ]] || usage
mkdir -p "$1"
directory=$(cd "$1" && pwd)
zhuyi=${2:-$(cd "$(dirname "$0")/.." && pwd)/build/release/zhuyi}
packages="$directory/packages"
texts="$directory/text"
licences="$directory/licences"
if [[ ! -x $zhuyi ]]; then
  say "$zhuyi is no program; build it first, or name it as the second argument"
  exit 1
fi
mkdir -p "$packages" "$texts" "$licences"

all_packages=("${help_packages[@]}" "${catalogue_packages[@]}")
download "${all_packages[@]}"
for package in "${all_packages[@]}"; do
  unpack "$package"
  keep_licence "$package"
done
list_licences
make_corpus
