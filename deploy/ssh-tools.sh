#!/bin/sh
# `sh ssh-tools.sh DIRECTORY`: copies OpenSSH with all that it is linked to from this machine (Debian 12 or the like: glibc, OpenSSH
# before 9.8) into a directory that is complete in itself, and runs in images without ssh, of another libc too. Put it on a
# volume that jobs see, and name it as the site's sshTools. It may be moved.
set -eu
die() {
  echo "ssh-tools.sh: $1" >&2
  exit 1
}
[ $# = 1 ] || die "expected one argument, the directory to make"
target=$1
[ ! -e "$target" ] || die "$target is there already"
PATH=$PATH:/usr/sbin:/sbin
for name in sshd ssh scp sftp; do
  command -v "$name" >/dev/null || die "this machine has no $name (packages openssh-server, openssh-client)"
done
[ -x /usr/lib/openssh/sftp-server ] || die "there is no /usr/lib/openssh/sftp-server (package openssh-sftp-server)"
# from 9.8 on sshd runs further programs by paths of its own
for session in /usr/lib/openssh/sshd-session /usr/libexec/openssh/sshd-session /usr/libexec/sshd-session; do
  [ ! -e "$session" ] || die "this OpenSSH is too new: expected one before 9.8, as of Debian 12"
done
mkdir -p "$target/bin" "$target/lib" "$target/libexec" "$target/loader"
for program in "$(command -v sshd)" "$(command -v ssh)" "$(command -v scp)" "$(command -v sftp)" /usr/lib/openssh/sftp-server; do
  name=${program##*/} more=
  cp -L "$program" "$target/libexec/$name"
  for library in $(ldd "$program" | sed -n 's/^.* => \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*ld[^ ]*\) .*/\1/p'); do
    cp -L "$library" "$target/lib/${library##*/}"
    case $library in */ld-* | */ld64*) loader=${library##*/} ;; esac
  done
  # the process has the name of its loader, by which the runner knows sshd
  cp "$target/lib/$loader" "$target/loader/$name"
  # shellcheck disable=SC2016 # for the program that is written
  case $name in
    sshd) more=' -r' ;; # it cannot start itself anew by its own path
    scp | sftp) more=' -S "$tools/bin/ssh"' ;;
  esac
  # shellcheck disable=SC2016
  printf '#!/bin/sh\ntools=${0%%/bin/*}\nexec "$tools/loader/%s" --library-path "$tools/lib" "$tools/libexec/%s"%s "$@"\n' \
    "$name" "$name" "$more" >"$target/bin/$name"
  chmod 755 "$target/bin/$name"
done
chmod -R go=u,go-w "$target"
