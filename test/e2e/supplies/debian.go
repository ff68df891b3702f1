//go:build linux

package supplies

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// packages are extracted from Debian's archive, not installed: installed ones would start services, and outlive the test.
func packages() []string {
	return []string{"containerd", "runc", "containernetworking-plugins", "mmdebstrap"}
}

// keyring verifies the releases of Debian, including those that are newer than this machine's.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// system is an image of a Debian release with some packages.
type system struct {
	image    string
	release  string // empty: that of this machine
	packages []string
	hooks    []string // shell commands; "$1" is the root of the system
	optional bool
}

// systems returns the images with MPI, and one with PyTorch. The former are set up like those of mpi-operator: sshd does not
// check the modes of a mounted key, ssh does not verify host keys, and mpiuser can run its own sshd at port 2222.
func systems() []system {
	hooks := []string{
		`mkdir -p "$1/run/sshd"`,
		`printf 'StrictModes no\n' >"$1/etc/ssh/sshd_config.d/mpi.conf"`,
		`printf 'Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n' >"$1/etc/ssh/ssh_config.d/mpi.conf"`,
		`chroot "$1" useradd --create-home --uid 1000 --shell /bin/bash mpiuser`,
		`printf 'Port 2222\nHostKey /home/mpiuser/.ssh/id_rsa\nPidFile /home/mpiuser/sshd.pid\nStrictModes no\nUsePAM no\n` +
			`AuthorizedKeysFile /home/mpiuser/.ssh/authorized_keys\nSubsystem sftp internal-sftp\n' >"$1/home/mpiuser/.sshd_config"`,
		`printf 'Match localuser mpiuser\n  Port 2222\n' >"$1/etc/ssh/ssh_config.d/mpiuser.conf"`,
	}
	return []system{
		{image: MPI, packages: []string{"openmpi-bin", "mpich", "openssh-server", "openssh-client", "python3-mpi4py"}, hooks: hooks},
		{image: MPI5, release: "trixie", packages: []string{"openmpi-bin", "openssh-server", "openssh-client", "python3-mpi4py"}, hooks: hooks, optional: true},
		{image: Torch, packages: []string{"python3-torch", "bind9-dnsutils"}, hooks: []string{torchrun}, optional: true},
	}
}

// torchrun repairs that of Debian's torch 1.13: since Python 3.11 a loop over an enumeration of flags omits the one that is zero.
const torchrun = `sed -i 's/for s in Std:/for s in Std.__members__.values():/' "$1/usr/lib/python3/dist-packages/torch/distributed/elastic/multiprocessing/api.py"`

// debootstrap returns the flags for all systems. The folder of sshd is in /run.
func debootstrap() []string {
	return []string{"--variant=minbase", `--aptopt=APT::Install-Recommends "false"`, "--skip=cleanup/run"}
}

// recipe returns a hash that is equal for equal inputs.
func recipe(parts ...[]string) string {
	hash := sha256.New()
	for _, part := range append(parts, []string{runtime.GOARCH}) {
		fmt.Fprintf(hash, "%q\n", part)
	}
	return hex.EncodeToString(hash.Sum(nil))[:12]
}

// runtime provides containerd, runc, CNI plugins, and the tools that make images.
func (m *maker) runtime(ctx context.Context, s *Supplies) error {
	dir := m.debian()
	s.Containerd, s.Runc, s.CNI = filepath.Join(dir, "usr/bin"), filepath.Join(dir, "usr/sbin/runc"), filepath.Join(dir, "usr/lib/cni")
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	m.say("download %s", strings.Join(packages(), ", "))
	scratch, err := os.MkdirTemp(m.dir, unfinished)
	if err != nil {
		return fmt.Errorf("make a place for Debian's packages: %w", err)
	}
	err = m.extract(ctx, scratch)
	if err == nil {
		err = os.Rename(filepath.Join(scratch, "root"), dir)
	}
	return errors.Join(err, os.RemoveAll(scratch))
}

func (m *maker) debian() string {
	return filepath.Join(m.dir, "debian-"+recipe(packages()))
}

func (m *maker) extract(ctx context.Context, scratch string) error {
	c := exec.CommandContext(ctx, "apt-get", append([]string{"download"}, packages()...)...)
	c.Dir = scratch
	if _, err := m.run(ctx, c); err != nil {
		return fmt.Errorf("download packages of Debian (does apt-get update help?): %w", err)
	}
	found, err := filepath.Glob(filepath.Join(scratch, "*.deb"))
	if err != nil {
		return fmt.Errorf("look for packages: %w", err)
	}
	for _, archive := range found {
		if _, err := m.run(ctx, exec.CommandContext(ctx, "dpkg-deb", "-x", archive, filepath.Join(scratch, "root"))); err != nil {
			return fmt.Errorf("extract %s: %w", filepath.Base(archive), err)
		}
	}
	return nil
}

// system makes the image of a system, unless it is cached.
func (m *maker) system(ctx context.Context, d system, run settings) (Image, error) {
	made := Image{Name: d.image, Tar: m.tar(d.image, recipe([]string{d.release}, d.packages, d.hooks, debootstrap()))}
	if _, err := os.Stat(made.Tar); err == nil {
		return made, nil
	}
	if err := m.remove(m.tar(d.image, "*")); err != nil { // made by another recipe
		return made, err
	}
	release, source, err := m.source(ctx, d.release)
	if err != nil {
		return made, err
	}
	m.say("make a Debian %s with %s", release, strings.Join(d.packages, ", "))
	root := filepath.Join(m.dir, unfinished+"root.tar")
	args := append(debootstrap(), "--include="+strings.Join(d.packages, ","))
	for _, hook := range d.hooks {
		args = append(args, "--customize-hook="+hook)
	}
	c := exec.CommandContext(ctx, filepath.Join(m.debian(), "usr/bin/mmdebstrap"), append(args, release, root, source)...)
	c.Env = append(os.Environ(), "TMPDIR="+m.dir, "PATH="+filepath.Join(m.debian(), "usr/bin")+":"+os.Getenv("PATH"))
	if err := m.runContained(ctx, c); err != nil {
		return made, fmt.Errorf("make the image %s: %w", d.image, err)
	}
	if err := made.write(root, run); err != nil {
		return made, err
	}
	return made, os.Remove(root)
}

// runContained runs a command in separate namespaces. Compilers have children, and mmdebstrap mounts /proc and /sys below the
// cache. If the command is killed, because the context or this process ends, the kernel ends its processes and its mounts, too.
func (m *maker) runContained(ctx context.Context, c *exec.Cmd) error {
	runtime.LockOSThread() // Pdeathsig is about the thread that starts the command
	defer runtime.UnlockOSThread()
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	_, err := m.run(ctx, c)
	return err
}

// source returns a line of APT's for a release of Debian, from the mirror of this machine's packages.
func (m *maker) source(ctx context.Context, release string) (string, string, error) {
	out, err := m.run(ctx, exec.CommandContext(ctx, "apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)",
		"Created-By: Packages", "Component: main"))
	if err != nil {
		return "", "", fmt.Errorf("ask APT where it has packages from: %w", err)
	}
	own, err := codename()
	if err != nil {
		return "", "", err
	}
	lines := strings.Split(out, "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, own+" ") })
	if at < 0 {
		return "", "", fmt.Errorf("APT of this machine has no source for main of %s", own)
	}
	if release == "" {
		release = own
	}
	_, uri, _ := strings.Cut(lines[at], " ")
	return release, fmt.Sprintf("deb [signed-by=%s] %s %s main", keyring, uri, release), nil
}

// codename returns the name of this machine's release of Debian.
func codename() (string, error) {
	content, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "", fmt.Errorf("read which release of Debian this machine has: %w", err)
	}
	for line := range strings.Lines(string(content)) {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), "VERSION_CODENAME="); is {
			return strings.Trim(name, `"`), nil
		}
	}
	return "", errors.New("/etc/os-release has no VERSION_CODENAME")
}
