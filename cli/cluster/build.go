package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"stoic/cli/process"
)

const (
	// kept is how many binaries stay in the cache; each has more than 100 MB.
	kept = 3
	// reportInterval is how often progress is reported to a user who waits.
	reportInterval = 10 * time.Second
)

// Build makes sure that the binary of the local control plane exists, and that of KINE if the options need it. It returns the path
// of the first. The first build takes some minutes; the binary is then kept in the user's cache directory. Several processes may
// call Build at the same time: one builds, the others wait.
func Build(ctx context.Context, o Options) (string, error) {
	program, _, err := programs(ctx, o.withStart())
	return program, err
}

// programs builds the local control plane and, if the options need it, KINE. It returns both paths; kine is empty if it is not
// needed.
func programs(ctx context.Context, o Options) (program, kine string, err error) {
	if program, err = buildPlane(ctx, o); err == nil && o.needsKine() {
		kine, err = buildKine(ctx, o)
	}
	return program, kine, err
}

func buildPlane(ctx context.Context, o Options) (string, error) {
	if o.Program != "" {
		return o.Program, nil
	}
	b, err := o.plan(ctx)
	if err != nil {
		return "", err
	}
	return b.once(ctx)
}

func buildKine(ctx context.Context, o Options) (string, error) {
	o.Kubernetes = "" // it is the same for all
	b, err := o.plan(ctx)
	if err != nil {
		return "", err
	}
	if b, err = b.of(StoreKine); err != nil {
		return "", err
	}
	return b.once(ctx)
}

// once builds the binary unless it exists.
func (b *build) once(ctx context.Context) (string, error) {
	if b.exists() {
		return b.binary, nil
	}
	lock, err := acquire(ctx, filepath.Join(b.cache, "build.lock"), b.options.steps())
	if err != nil {
		return "", err
	}
	defer lock.release()
	if b.exists() { // another process built it while we waited for the lock
		return b.binary, nil
	}
	if err := b.run(ctx); err != nil {
		return "", err
	}
	return b.binary, b.prune()
}

// build describes one binary to build.
type build struct {
	options Options
	name    string // of the program, and of its folder in the cache
	what    string // what a reader of the progress calls it
	source  string
	modfile string
	version string // of Kubernetes
	goTool  string
	cache   string // holds one folder per fingerprint
	binary  string

	compiler string // its version
}

func (b *build) fingerprint() (string, error) {
	return fingerprint(b.source, b.modfile, b.compiler, runtime.GOOS, runtime.GOARCH)
}

func (o Options) plan(ctx context.Context) (*build, error) {
	b := &build{options: o, name: folder, modfile: o.modfile()}
	var err error
	if b.source, err = o.findSource(ctx); err != nil {
		return nil, err
	}
	if b.version, err = kubernetesVersion(b.source, b.modfile); err != nil {
		return nil, err
	}
	if b.goTool, err = exec.LookPath("go"); err != nil {
		return nil, fmt.Errorf("the local control plane is built from source: install Go (https://go.dev/dl) and put it on the PATH: %w", err)
	}
	compiler, err := b.command(ctx, "env", "GOVERSION").Output()
	if err != nil {
		return nil, fmt.Errorf("ask go for its version: %w", err)
	}
	b.compiler = strings.TrimSpace(string(compiler))
	b.what = fmt.Sprintf("the local control plane (Kubernetes %s)", b.version)
	return b, b.place()
}

// of returns the build of a program whose module is a subfolder of these sources.
func (b *build) of(module string) (*build, error) {
	part := *b
	part.name, part.what, part.source, part.modfile = module, strings.ToUpper(module), filepath.Join(b.source, module), ownModfile
	return &part, part.place()
}

// place chooses the path of the binary by the fingerprint of the sources.
func (b *build) place() error {
	id, err := b.fingerprint()
	if err != nil {
		return err
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("find a place to keep %s: %w", b.what, err)
	}
	b.cache = filepath.Join(user, "stoic", b.name)
	b.binary = filepath.Join(b.cache, id, b.program())
	if err := os.MkdirAll(filepath.Dir(b.binary), 0o755); err != nil {
		return fmt.Errorf("make a place to keep %s: %w", b.what, err)
	}
	return nil
}

func (b *build) program() string {
	if runtime.GOOS == "windows" {
		return b.name + ".exe"
	}
	return b.name
}

// exists reports whether the binary exists. It also marks the binary as used, so that prune keeps it.
func (b *build) exists() bool {
	if _, err := os.Stat(b.binary); err != nil {
		return false
	}
	now := time.Now()
	// In a read-only cache the mark fails, but so does the prune that reads it.
	_ = os.Chtimes(filepath.Dir(b.binary), now, now)
	return true
}

// command returns a command of the go tool that runs in the sources' folder and builds for this machine, whatever platform the
// environment names.
func (b *build) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, b.goTool, args...)
	command.Dir = b.source
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "PWD="+b.source)
	return command
}

// run compiles into a temporary file and renames it, so that the binary is either complete or absent.
func (b *build) run(ctx context.Context) error {
	dir := filepath.Dir(b.binary)
	scratch, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return fmt.Errorf("make a place to build in: %w", err)
	}
	output := filepath.Join(scratch, b.program())
	err = b.compile(ctx, output)
	if err == nil {
		err = b.install(output)
	}
	if failure := os.RemoveAll(scratch); failure != nil {
		err = errors.Join(err, fmt.Errorf("clean up after the build: %w", failure))
	}
	return err
}

// install moves the new binary to its path, unless the sources changed during the build: then it is not known which version it
// holds.
func (b *build) install(output string) error {
	id, err := b.fingerprint()
	if err != nil {
		return err
	}
	if id != filepath.Base(filepath.Dir(b.binary)) {
		return fmt.Errorf("the sources in %s changed during the build: try again", b.source)
	}
	if err := os.Rename(output, b.binary); err != nil {
		return fmt.Errorf("put the binary in its place: %w", err)
	}
	return nil
}

func (b *build) compile(ctx context.Context, output string) error {
	w := &watcher{steps: b.options.steps()}
	w.steps.say("building %s; the first time takes some minutes, the result is kept", b.what)
	args := []string{"build", "-v", "-trimpath", "-mod=readonly", "-buildvcs=false",
		"-ldflags", "-s -w -X k8s.io/component-base/version.gitVersion=" + b.version, "-o", output}
	if b.modfile != ownModfile {
		args = append(args, "-modfile="+b.modfile)
	}
	command := b.command(ctx, append(args, ".")...)
	command.Stderr = w
	command.Stdout = w
	process.Interruptible(command)
	stop := w.every(reportInterval)
	err := command.Run()
	stop()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("build %s: %w", b.what, context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("build %s in %s: %w\n%s", b.what, b.source, err, w.complaints())
	}
	w.steps.say("built %s", b.what)
	return nil
}

// prune removes the least recently used binaries, and the remains of killed builds.
func (b *build) prune() error {
	entries, err := os.ReadDir(b.cache)
	if err != nil {
		return fmt.Errorf("look for old binaries: %w", err)
	}
	var dirs []fs.FileInfo
	for _, entry := range entries {
		// An entry that vanishes meanwhile needs no removal.
		if info, err := entry.Info(); err == nil && info.IsDir() {
			dirs = append(dirs, info)
		}
	}
	slices.SortFunc(dirs, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var failures []error
	for _, dir := range dirs[min(kept, len(dirs)):] {
		failures = append(failures, os.RemoveAll(filepath.Join(b.cache, dir.Name())))
	}
	leftovers, err := filepath.Glob(filepath.Join(b.cache, "*", "build-*"))
	failures = append(failures, err)
	for _, path := range leftovers { // we hold the lock: no one builds there
		failures = append(failures, os.RemoveAll(path))
	}
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("remove old binaries: %w", err)
	}
	return nil
}
