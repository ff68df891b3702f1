//go:build linux

package supplies

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"stoic/cli/cluster"
)

// unfinished begins the names of unfinished files. The next run removes those that a killed run has left.
const unfinished = "unfinished-"

// Names of the images.
const (
	Operator = "docker.io/library/stoic:e2e"     // as `make image` builds it
	Earlier  = "docker.io/library/stoic:earlier" // the operator of the previous commit
	Delivery = host + "kubectl-delivery:1"
	Pause    = host + "pause:1"
	MPI      = host + "mpi:1"   // Open MPI 4, MPICH, OpenSSH
	MPI5     = host + "mpi5:1"  // Open MPI 5, OpenSSH
	Torch    = host + "torch:1" // PyTorch, and nslookup, by which workers wait for the master
)

// Supplies are the programs and images of a node.
type Supplies struct {
	Dir string // the folder of all of them. A node may have a folder in it
	// ControlPlane acts as etcd, kube-apiserver, kube-controller-manager or kube-scheduler, by its first argument.
	ControlPlane              string
	Kubelet, Kubectl, CoreDNS string
	Helm                      string
	Pause                     string
	Containerd                string   // folder with containerd, its shim and ctr
	Runc                      string   // the program
	CNI                       string   // folder with the plugins
	Images                    []Image  // in the order in which they are needed
	Before                    string   // folder with the sources of the previous commit; "" if this checkout has none
	Missing                   []string // images that are not available here, and why
	lock                      *os.File
}

// maker makes supplies.
type maker struct {
	dir, root string // the cache, and the root of this module
	progress  io.Writer
	began     time.Time
}

// Prepare makes what is missing; that takes a quarter of an hour, once. Until Release no other process can have the supplies.
// root is the root of this module.
func Prepare(ctx context.Context, root string, progress io.Writer) (_ *Supplies, err error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find a place for programs and images: %w", err)
	}
	m := &maker{dir: filepath.Join(user, "stoic", "e2e"), root: root, progress: progress, began: time.Now()}
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make a place for programs and images: %w", err)
	}
	s := &Supplies{Dir: m.dir}
	if s.lock, err = acquire(filepath.Join(m.dir, "lock")); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Release())
		}
	}()
	for _, left := range []string{unfinished + "*", "mmdebstrap.*"} { // by a killed run
		if err := m.remove(filepath.Join(m.dir, left)); err != nil {
			return nil, err
		}
	}
	if err := m.all(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// all compiles programs, and in parallel makes what consists of Debian's packages: the former keeps the processors busy, the
// latter mostly waits for a mirror and a disk.
func (m *maker) all(ctx context.Context, s *Supplies) error {
	group, ctx := errgroup.WithContext(ctx)
	var ours, debian []Image
	group.Go(func() (err error) {
		for _, step := range []func(context.Context, *Supplies) error{m.controlPlane, m.programs, m.before} {
			if err := step(ctx, s); err != nil {
				return err
			}
		}
		ours, err = m.images(ctx, s)
		return err
	})
	group.Go(func() (err error) {
		if err := m.runtime(ctx, s); err != nil {
			return err
		}
		debian, err = m.systems(ctx, s)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	s.Images = slices.Concat(ours, debian)
	return nil
}

// Release lets other processes have the supplies.
func (s *Supplies) Release() error {
	if err := s.lock.Close(); err != nil {
		return fmt.Errorf("release the programs and images: %w", err)
	}
	return nil
}

// acquire takes the lock, which ends with the process.
func acquire(path string) (*os.File, error) {
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock of programs and images: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another run of make e2e has %s: %w", path, err), lock.Close())
	}
	return lock, nil
}

// remove removes the files that a pattern matches.
func (m *maker) remove(pattern string) error {
	left, err := filepath.Glob(pattern)
	if err != nil {
		return fmt.Errorf("look for old files: %w", err)
	}
	for _, path := range left {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove old files: %w", err)
		}
	}
	return nil
}

func (m *maker) say(format string, args ...any) {
	fmt.Fprintf(m.progress, "%4.0f s  %s\n", time.Since(m.began).Seconds(), fmt.Sprintf(format, args...))
}

// run runs a command; its error output is reported only if it fails.
func (m *maker) run(ctx context.Context, c *exec.Cmd) (string, error) {
	var out, talk strings.Builder
	c.Stdout, c.Stderr = &out, &talk
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", fmt.Errorf("%s: %w\n%s", c, err, tail(talk.String(), 30))
	}
	return out.String(), nil
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func (m *maker) controlPlane(ctx context.Context, s *Supplies) (err error) {
	s.ControlPlane, err = cluster.Build(ctx, cluster.Options{Source: filepath.Join(m.root, "localcluster"), Progress: m.progress})
	return err
}

// programs compiles static programs: the go tool knows what is up to date.
func (m *maker) programs(ctx context.Context, s *Supplies) error {
	bin := filepath.Join(m.dir, "bin")
	// Most of kubelet, kubectl and Helm is compiled with the control plane: in a separate module Helm takes five minutes, here one.
	kubernetes := filepath.Join(m.root, "localcluster")
	version, err := m.goList(ctx, kubernetes, "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return err
	}
	stamp := "-s -w -X k8s.io/component-base/version.gitVersion=" + version
	// One command compiles the programs of one module: while one is linked, which takes one processor, the next is compiled.
	for _, build := range []struct {
		folder, flags string
		packages      []string // the last part of their paths is the name of the program
	}{
		{kubernetes, stamp, []string{"./node/kubelet", "./node/kubectl", "helm.sh/helm/v4/cmd/helm"}},
		{filepath.Join(m.root, "test/e2e/coredns"), "-s -w", []string{"."}},
		// The operator itself, so that its two images, which are built in parallel, do not compile the same code twice.
		{m.root, "-s -w", []string{".", "./test/e2e/pause", "./test/e2e/deliver"}},
		{filepath.Join(m.root, "tools"), "-s -w", []string{"./image"}},
	} {
		m.say("compile %s of %s", strings.Join(build.packages, ", "), build.folder)
		c := exec.CommandContext(ctx, "go", append([]string{"build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", build.flags,
			"-o", bin + string(filepath.Separator)}, build.packages...)...)
		c.Dir, c.Env = build.folder, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
		if err := m.runContained(ctx, c); err != nil {
			return fmt.Errorf("compile %s of %s: %w", strings.Join(build.packages, ", "), build.folder, err)
		}
	}
	s.Helm = filepath.Join(bin, "helm")
	s.Kubelet = filepath.Join(bin, "kubelet")
	s.Kubectl = filepath.Join(bin, "kubectl")
	s.CoreDNS = filepath.Join(bin, "coredns")
	s.Pause = filepath.Join(bin, "pause")
	return nil
}

func (m *maker) goList(ctx context.Context, folder string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", append([]string{"list"}, args...)...)
	c.Dir = folder
	out, err := m.run(ctx, c)
	return strings.TrimSpace(out), err
}

// before extracts the sources of the previous commit from the repository, if this checkout has it.
func (m *maker) before(ctx context.Context, s *Supplies) error {
	folder := filepath.Join(m.dir, "before")
	if err := m.remove(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make a place for the commit before: %w", err)
	}
	const extract = `set -o pipefail; git -C "$0" archive HEAD~1 | tar --extract --directory "$1"`
	if _, err := m.run(ctx, exec.CommandContext(ctx, "bash", "-c", extract, m.root, folder)); err != nil {
		m.say("no commit before this one: %v", err)
		return nil
	}
	s.Before = folder
	return nil
}

// operator builds the image of the operator into a folder, as make image does, and makes one file of it for containerd.
func (m *maker) operator(ctx context.Context, root, folder, version string) error {
	m.say("build the image of the operator of %s", root)
	c := exec.CommandContext(ctx, filepath.Join(m.dir, "bin", "image"), "-root", root, "-out", folder, "-architectures", runtime.GOARCH,
		"-version", version, "-revision", version)
	c.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=0")
	if err := m.runContained(ctx, c); err != nil {
		return err
	}
	return m.runContained(ctx, exec.CommandContext(ctx, "tar", "-C", filepath.Join(folder, "oci"), "-cf", filepath.Join(folder, "stoic.tar"), "."))
}

// containerPath returns the PATH of all images.
func containerPath() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
}

// images builds the images of our programs in each run.
func (m *maker) images(ctx context.Context, s *Supplies) (all []Image, err error) {
	bin := filepath.Join(m.dir, "bin")
	sources := map[string]string{Operator: m.root}
	if s.Before != "" {
		sources[Earlier] = s.Before
	}
	group, within := errgroup.WithContext(ctx)
	for name, root := range sources {
		_, tag := Split(name)
		folder := filepath.Join(m.dir, "image-"+tag)
		group.Go(func() error { return m.operator(within, root, folder, tag) })
		all = append(all, Image{Name: name, Tar: filepath.Join(folder, "stoic.tar")})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, image := range []struct {
		name  string
		files map[string]string
		run   settings
	}{
		{Pause, map[string]string{"pause": filepath.Join(bin, "pause")}, settings{Entrypoint: []string{"/pause"}, User: "65532:65532", Env: containerPath()}},
		{Delivery, map[string]string{"deliver": filepath.Join(bin, "deliver"), "bin/kubectl": filepath.Join(bin, "kubectl")},
			settings{Entrypoint: []string{"/deliver"}, Env: containerPath()}},
	} {
		m.say("write the image %s", image.name)
		files := filepath.Join(m.dir, unfinished+"layer.tar")
		if err := layer(files, image.files); err != nil {
			return nil, fmt.Errorf("write the image %s: %w", image.name, err)
		}
		made := Image{Name: image.name, Tar: m.tar(image.name)}
		if err := made.write(files, image.run); err != nil {
			return nil, err
		}
		if err := os.Remove(files); err != nil {
			return nil, fmt.Errorf("write the image %s: %w", image.name, err)
		}
		all = append(all, made)
	}
	return all, nil
}

// systems writes the images of Debian, unless they are cached.
func (m *maker) systems(ctx context.Context, s *Supplies) ([]Image, error) {
	var all []Image
	for _, d := range systems() {
		made, err := m.system(ctx, d, settings{Env: containerPath()})
		switch {
		case err == nil:
			made.Late = d.optional
			all = append(all, made)
		case d.optional && ctx.Err() == nil:
			m.say("no image %s: %v", d.image, err)
			s.Missing = append(s.Missing, fmt.Sprintf("%s: %v", d.image, err))
		default:
			return nil, err
		}
	}
	return all, nil
}

// tar returns where the archive of an image is kept.
func (m *maker) tar(image string, more ...string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(image, host), ":")
	return filepath.Join(m.dir, strings.Join(append([]string{name}, more...), "-")+".tar")
}
