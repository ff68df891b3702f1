#!/usr/bin/env bash
# test/e2e/supplies.sh FOLDER makes the programs and images of a real node in a folder of the user's cache, and keeps what is there.
#
# Programs of Kubernetes are compiled from Go modules, those of the container runtime are extracted from Debian's packages, and images
# are archives as `docker save` writes them. Nothing is installed on the machine, and nothing is pulled.
set -euo pipefail
folder=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$folder/bin
debian=$folder/debian
architecture=$(go env GOARCH)
path='"Env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]'

rm -rf "$folder"/unfinished-* "$folder"/mmdebstrap.* # of a killed run
scratch=$(mktemp -d "$folder/unfinished-XXXXXX")
trap 'rm -rf "$scratch"' EXIT

say() {
  printf '%4d s  %s\n' "$SECONDS" "$*"
}

# compile MODULE LDFLAGS PACKAGE... compiles static programs. One command compiles those of one module: while one is linked, which
# takes one processor, the next is compiled.
compile() {
  local module=$1 flags=$2
  shift 2
  say "compile $* of $module"
  (cd "$module" && CGO_ENABLED=0 GOWORK=off GOFLAGS='' go build -trimpath -buildvcs=false -mod=readonly -ldflags "$flags" -o "$bin/" "$@")
}

# write_image NAME LAYER CONFIG writes the archive NAME.tar of the image e2e.invalid/NAME:1. No such host exists, so nothing can be
# pulled from it.
write_image() {
  local name=$1 layer=$2 config=$3 made=$scratch/$1
  say "write the image $name"
  mkdir "$made"
  mv "$layer" "$made/layer.tar"
  printf '{"architecture":"%s","os":"linux","config":%s,"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
    "$architecture" "$config" "$(sha256sum "$made/layer.tar" | cut -d ' ' -f 1)" > "$made/config.json"
  printf '[{"Config":"config.json","RepoTags":["e2e.invalid/%s:1"],"Layers":["layer.tar"]}]' "$name" > "$made/manifest.json"
  tar -C "$made" -cf "$made.tar" manifest.json config.json layer.tar
  mv "$made.tar" "$folder/$name.tar"
  rm -r "$made"
}

# operator_image ROOT VERSION builds the image of the operator of a checkout, as make image does, and makes one file of it.
operator_image() {
  local checkout=$1 version=$2 made=$folder/image-$2
  say "build the image of the operator of $checkout"
  SOURCE_DATE_EPOCH=0 "$bin/image" -root "$checkout" -out "$made" -architectures "$architecture" -version "$version" -revision "$version"
  tar -C "$made/oci" -cf "$made/stoic.tar" .
}

# programs compiles all programs. Most of kubelet, kubectl and Helm is compiled with the control plane: in a separate module Helm takes
# five minutes, here one.
programs() {
  local version
  version=$(go list -C "$root/localcluster" -m -f '{{.Version}}' k8s.io/kubernetes)
  compile "$root/localcluster" "-s -w -X k8s.io/component-base/version.gitVersion=$version" ./node/kubelet ./node/kubectl helm.sh/helm/v4/cmd/helm
  compile "$root/test/e2e/coredns" '-s -w' .
  compile "$root" '-s -w' ./test/e2e/pause ./test/e2e/deliver
  compile "$root/tools" '-s -w' ./image
}

# our_images writes the images of our programs, and that of the operator of the previous commit, if this checkout has one.
our_images() {
  rm -rf "$folder/before"
  mkdir "$folder/before"
  if git -C "$root" archive HEAD~1 > "$scratch/before.tar"; then
    tar -C "$folder/before" -xf "$scratch/before.tar"
    operator_image "$folder/before" earlier
  else
    say "no commit before this one"
    rm -r "$folder/before"
  fi
  operator_image "$root" e2e
  tar -C "$bin" -cf "$scratch/pause.layer" pause
  write_image pause "$scratch/pause.layer" "{\"Entrypoint\":[\"/pause\"],\"User\":\"65532:65532\",$path}"
  install -D "$bin/kubectl" "$scratch/delivery/bin/kubectl"
  install "$bin/deliver" "$scratch/delivery/deliver"
  tar -C "$scratch/delivery" --owner=0 --group=0 -cf "$scratch/delivery.layer" deliver bin/kubectl
  write_image kubectl-delivery "$scratch/delivery.layer" "{\"Entrypoint\":[\"/deliver\"],$path}"
}

# extract_runtime extracts packages. Installed ones would start services, and outlive the test.
extract_runtime() {
  [ ! -d "$debian" ] || return 0
  say "download containerd, runc, CNI plugins, mmdebstrap"
  mkdir "$scratch/packages"
  (cd "$scratch/packages" && apt-get -q download containerd runc containernetworking-plugins mmdebstrap) # does apt-get update help?
  for archive in "$scratch/packages"/*.deb; do
    dpkg-deb -x "$archive" "$scratch/debian"
  done
  mv "$scratch/debian" "$debian"
}

# debian_image NAME RELEASE PACKAGES HOOK... makes the image of a Debian release with some packages, unless it is cached. "$1" in a hook is
# the root of the system. The keyring verifies releases that are newer than this machine's, too.
debian_image() {
  local name=$1 release=$2 packages=$3 recipe uri
  recipe=$(printf '%s\n' "$@" "$architecture")
  if [ -f "$folder/$name.tar" ] && [ "$(cat "$folder/$name.recipe")" = "$recipe" ]; then
    return
  fi
  shift 3
  rm -f "$folder/$name.tar"
  say "make a Debian $release with $packages"
  uri=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' 'Component: main' | sed -n "s/^$codename //p" | head -n 1)
  # The folder of sshd is in /run.
  TMPDIR=$scratch PATH=$debian/usr/bin:$PATH mmdebstrap --quiet --variant=minbase --aptopt='APT::Install-Recommends "false"' --skip=cleanup/run \
    --include="$packages" "${@/#/--customize-hook=}" "$release" "$scratch/$name.root.tar" \
    "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $release main" || return 1
  write_image "$name" "$scratch/$name.root.tar" "{$path}"
  printf '%s\n' "$recipe" > "$folder/$name.recipe"
}

# debian_images makes the images with MPI, and one with PyTorch. The former are set up like those of mpi-operator: sshd does not check the
# modes of a mounted key, ssh does not verify host keys, and mpiuser can run its own sshd at port 2222.
debian_images() {
  local codename sshd=(
    'mkdir -p "$1/run/sshd"'
    'printf "StrictModes no\n" > "$1/etc/ssh/sshd_config.d/mpi.conf"'
    'printf "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n" > "$1/etc/ssh/ssh_config.d/mpi.conf"'
    'chroot "$1" useradd --create-home --uid 1000 --shell /bin/bash mpiuser'
    'printf "Port 2222\nHostKey /home/mpiuser/.ssh/id_rsa\nPidFile /home/mpiuser/sshd.pid\nStrictModes no\nUsePAM no\nAuthorizedKeysFile /home/mpiuser/.ssh/authorized_keys\nSubsystem sftp internal-sftp\n" > "$1/home/mpiuser/.sshd_config"'
    'printf "Match localuser mpiuser\n  Port 2222\n" > "$1/etc/ssh/ssh_config.d/mpiuser.conf"'
  )
  # Since Python 3.11 a loop over an enumeration of flags omits the one that is zero, which torchrun of Debian's torch 1.13 needs.
  local torchrun='sed -i "s/for s in Std:/for s in Std.__members__.values():/" "$1/usr/lib/python3/dist-packages/torch/distributed/elastic/multiprocessing/api.py"'
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  debian_image mpi "$codename" openmpi-bin,mpich,openssh-server,openssh-client,python3-mpi4py "${sshd[@]}"
  # Mirrors need not have these: tests that need them are skipped.
  debian_image mpi5 trixie openmpi-bin,openssh-server,openssh-client,python3-mpi4py "${sshd[@]}" || say "no image mpi5"
  debian_image torch "$codename" python3-torch,bind9-dnsutils "$torchrun" || say "no image torch"
}

# Compilation keeps the processors busy; what consists of Debian's packages mostly waits for a mirror and a disk.
mkdir -p "$bin"
(
  extract_runtime
  debian_images
) &
packages=$!
programs
our_images
wait "$packages"
