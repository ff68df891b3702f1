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
	"strings"
	"syscall"

	"stoic/cli/cluster"
)

// Names of the images.
const (
	Operator = "docker.io/library/stoic:e2e"     // as `make image` builds it
	Earlier  = "docker.io/library/stoic:earlier" // the operator of the previous commit
	Delivery = "e2e.invalid/kubectl-delivery:1"
	Pause    = "e2e.invalid/pause:1"
	MPI      = "e2e.invalid/mpi:1"   // Open MPI 4, MPICH, OpenSSH
	MPI5     = "e2e.invalid/mpi5:1"  // Open MPI 5, OpenSSH
	Torch    = "e2e.invalid/torch:1" // PyTorch, and nslookup, by which workers wait for the master
)

// Image is the archive of one image, as `docker save` writes it and `ctr images import` reads it.
type Image struct {
	Name string // with host and tag
	Tar  string
	// Late: a node is usable before it has this image.
	Late bool
}

// Split splits the name of an image from its tag. The host may have a port.
func Split(name string) (image, tag string) {
	at := strings.LastIndexByte(name, ':')
	return name[:at], name[at+1:]
}

// Supplies are the programs and images of a node.
type Supplies struct {
	Dir string // the folder of all of them. A node may have a folder in it
	// ControlPlane acts as etcd, kube-apiserver, kube-controller-manager or kube-scheduler, by its first argument.
	ControlPlane string
	Images       []Image  // in the order in which they are needed
	Before       string   // folder with the sources of the previous commit; "" if this checkout has none
	Missing      []string // images that are not available here
	lock         *os.File
}

// Program returns a program that was compiled: kubelet, kubectl, coredns, helm or pause.
func (s *Supplies) Program(name string) string { return filepath.Join(s.Dir, "bin", name) }

// Debian returns a file of the packages that were extracted.
func (s *Supplies) Debian(path string) string { return filepath.Join(s.Dir, "debian", path) }

// Prepare makes what is missing; that takes a quarter of an hour, once. Until Release no other process can have the supplies.
// root is the root of this module.
func Prepare(ctx context.Context, root string, progress io.Writer) (_ *Supplies, err error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find a place for programs and images: %w", err)
	}
	s := &Supplies{Dir: filepath.Join(user, "stoic", "e2e")}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make a place for programs and images: %w", err)
	}
	if s.lock, err = acquire(filepath.Join(s.Dir, "lock")); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Release())
		}
	}()
	if s.ControlPlane, err = cluster.Build(ctx, cluster.Options{Source: filepath.Join(root, "localcluster"), Progress: progress}); err != nil {
		return nil, err
	}
	// The script is in separate namespaces, and ends with this process: with it end compilers and the mounts of mmdebstrap.
	runtime.LockOSThread() // Pdeathsig is about the thread that starts the command
	defer runtime.UnlockOSThread()
	script := exec.CommandContext(ctx, "unshare", "--pid", "--fork", "--kill-child", "--mount", filepath.Join(root, "test/e2e/supplies.sh"), s.Dir)
	script.Stdout = progress
	script.Stderr = progress
	script.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := script.Run(); err != nil {
		return nil, fmt.Errorf("make programs and images: %w", err)
	}
	s.find()
	return s, nil
}

// find finds out what the script has made.
func (s *Supplies) find() {
	if before := filepath.Join(s.Dir, "before"); exists(before) {
		s.Before = before
		s.Images = append(s.Images, Image{Name: Earlier, Tar: filepath.Join(s.Dir, "image-earlier/stoic.tar")})
	}
	s.Images = append(s.Images, Image{Name: Operator, Tar: filepath.Join(s.Dir, "image-e2e/stoic.tar")})
	for _, name := range []string{Pause, Delivery, MPI, MPI5, Torch} {
		base, _ := Split(filepath.Base(name))
		image := Image{Name: name, Tar: filepath.Join(s.Dir, base+".tar"), Late: name == MPI5 || name == Torch}
		if exists(image.Tar) {
			s.Images = append(s.Images, image)
		} else {
			s.Missing = append(s.Missing, name+" could not be made")
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
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
