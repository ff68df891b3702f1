package cli

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/test/operator"
)

// newOperator writes an operator into a new folder, and returns the folder and what is printed.
func newOperator(t *testing.T, args ...string) (folder, out string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "made")
	out, errOut, code := called(append([]string{"stoic", "init", "operator", "--dir", folder, "--engine", ".."}, args...)...)
	if code != 0 || errOut != "" {
		t.Fatalf("code %d, stderr %q", code, errOut)
	}
	return folder, out
}

// shell runs a command line in a folder.
func shell(t *testing.T, folder, line string) (out string) {
	t.Helper()
	cmd := exec.Command("bash", "-c", line)
	cmd.Dir, cmd.Env = folder, operator.OutsideMake()
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, text)
	}
	return string(text)
}

// TestInitOperator: what is written builds, passes its tests and its own make verify; make generate changes nothing. TestStarter of
// test/integration runs its make build, which compiles everything again, and the test on a control plane.
func TestInitOperator(t *testing.T) {
	operator.Full(t)
	for name, args := range map[string][]string{
		"all types": {"--group", "apps.example.com", "--kind", "FooBar", "--version", "v1", "--fields", "b:int,a:string,c:[]string,d:bool,e:[]int", "--module", "example.com/team/foobar"},
		"cluster, odd names": {"--group", "x.example.com", "--kind", "Controller", "--version", "v2beta3", "--cluster", "--plural", "many-controllers",
			"--fields", "type:bool,kind:string,func:[]int,items:[]string"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, _ := newOperator(t, args...)
			before := filesIn(t, folder)
			// go tool takes no GOFLAGS: it would compile everything in another way than make.
			said := shell(t, folder, "go tool | grep -x stoic/cmd/stoic && make verify unit generate STOIC='go run stoic/cmd/stoic'")
			if !strings.Contains(said, "1 document checked, 0 rejected\n") || !strings.HasSuffix(said, ": unchanged\n") {
				t.Error(said)
			}
			if diff := cmp.Diff(before, filesIn(t, folder)); diff != "" {
				t.Errorf("make changes what was written (-before +after):\n%s", diff)
			}
			shell(t, folder, "kubectl kustomize deploy && go run stoic/cmd/stoic crd check deploy/crd --strict")
			if left, err := filepath.Glob(filepath.Join(filepath.Dir(folder), ".*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// filesIn returns the files in a folder, by their names there.
func filesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestInitIsTidy: go.mod is as go mod tidy writes it, so that a user's first go mod tidy changes nothing.
func TestInitIsTidy(t *testing.T) {
	folder, _ := newOperator(t, "--group", "apps.example.com", "--kind", "Widget")
	before, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	shell(t, folder, "go mod tidy")
	after, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if diff := cmp.Diff(string(before), string(after)); err != nil || diff != "" {
		t.Errorf("%v; go mod tidy changes (-written +tidy):\n%s\nsee starter.needless", err, diff)
	}
}

// TestInitPrints: the printed commands work as they are.
func TestInitPrints(t *testing.T) {
	operator.Full(t)
	folder, out := newOperator(t, "--group", "apps.example.com", "--kind", "Widget")
	var lines []string
	for line := range strings.Lines(out) {
		if command, ok := strings.CutPrefix(line, "  $ "); ok && !strings.HasPrefix(command, "go test ./...") { // which takes a control plane
			lines = append(lines, strings.TrimSpace(command))
		}
	}
	if len(lines) != 5 || lines[0] != "cd "+folder {
		t.Fatalf("%q", lines)
	}
	if said := shell(t, ".", strings.Join(lines, " && ")); !strings.Contains(said, "ok  \tapps.example.com/widget-operator") {
		t.Error(said)
	}
	if !strings.Contains(out, "stoic is not published: go.mod takes it from ") {
		t.Errorf("it does not say where the engine is from:\n%s", out)
	}
}

// TestInitWritesAllOrNothing: a call that cannot finish leaves nothing.
func TestInitWritesAllOrNothing(t *testing.T) {
	engine, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	t.Chdir(parent)
	t.Setenv("GOFLAGS", "") // which the next line would be read with
	t.Setenv("PATH", parent)
	args := []string{"stoic", "init", "operator", "--group", "apps.example.com", "--kind", "Widget", "--engine", engine}
	if _, errOut, code := called(args...); code != 1 || !strings.Contains(errOut, "this needs Go") {
		t.Errorf("without go: code %d, %q", code, errOut)
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestInitIntoAnEmptyFolder: the folder is not replaced: a shell may be in it, and links may lead to it.
func TestInitIntoAnEmptyFolder(t *testing.T) {
	engine, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, folder := range []string{"named", "stood", "linked"} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"link": "linked", "nowhere": "absent"} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"stoic", "init", "operator", "--group", "apps.example.com", "--kind", "Widget", "--engine", engine, "--dir"}
	for folder, given := range map[string]string{"named": "named", "linked": "link", "stood": "."} {
		t.Run(folder, func(t *testing.T) {
			before, err := os.Stat(folder)
			if err != nil {
				t.Fatal(err)
			}
			absolute, err := filepath.Abs(folder)
			if err != nil {
				t.Fatal(err)
			}
			if given == "." {
				t.Chdir(folder)
			}
			if _, errOut, code := called(append(args, given)...); code != 0 || errOut != "" {
				t.Fatalf("code %d, %q", code, errOut)
			}
			after, err := os.Stat(absolute)
			if err != nil || !os.SameFile(before, after) {
				t.Errorf("another folder stands there: %v", err)
			}
			entries, err := os.ReadDir(absolute)
			if err != nil || len(entries) < 10 || strings.HasPrefix(entries[0].Name(), ".stood") {
				t.Errorf("%v, %v", entries, err)
			}
			if _, errOut, code := called(append(args, given)...); code != 2 || !strings.Contains(errOut, "must be a new or an empty folder") {
				t.Errorf("into a folder with files: code %d, %q", code, errOut)
			}
		})
	}
	if info, err := os.Lstat("link"); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if _, errOut, code := called(append(args, "nowhere")...); code != 2 || !strings.Contains(errOut, "a symbolic link that leads nowhere") {
		t.Errorf("a link to nothing: code %d, %q", code, errOut)
	}
}

// TestMoveAll: if one file cannot be moved, none is.
func TestMoveAll(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for _, file := range []string{filepath.Join(from, "a", "x"), filepath.Join(from, "b"), filepath.Join(to, "b")} {
		write(t, file, []byte(file))
	}
	if err := moveAll(from, to); err == nil || !strings.Contains(err.Error(), "which was not there before") {
		t.Error(err)
	}
	if d := cmp.Diff(map[string]string{"b": filepath.Join(to, "b")}, filesIn(t, to)); d != "" {
		t.Error(d)
	}
}

// TestInitCompletes: completion offers the types of fields, and versions.
func TestInitCompletes(t *testing.T) {
	for begun, want := range map[string]string{"--fields a:": "a:string\n", "--fields a:int,b:": "a:int,b:[]string\n", "--version v": "v1alpha1\n", "--gro": "--group\t"} {
		out, _, code := called(append([]string{"stoic", "__complete", "init", "operator"}, strings.Fields(begun)...)...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: code %d, %q, want %q", begun, code, out, want)
		}
	}
}
