package clients

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// limit bounds a program: with the operator, and pods that run for a second.
const limit = 5 * time.Minute

// TestClients: in each language the program of docs/clients.md runs a job until it has succeeded. In a second program the API
// server rejects one job and the operator another one, and the program deletes both. The clients were generated from what the API
// server publishes.
func TestClients(t *testing.T) {
	r := newRig(t)
	t.Run("languages", func(t *testing.T) {
		for name, prepare := range map[string]func(*testing.T) programs{"go": inGo, "typescript": inTypeScript, "python": inPython, "java": inJava} {
			t.Run(name, func(t *testing.T) {
				t.Parallel() // each has its own jobs
				p := prepare(t)
				if said := r.run(t, p, p.hello); strings.TrimSpace(said) != "Succeeded" {
					t.Fatalf("hello says %q", said)
				}
				r.run(t, p, p.smoke)
			})
		}
	})
	t.Run("openapi", func(t *testing.T) { published(t, r) })
}

// programs are those of a language, ready to run.
type programs struct {
	folder       string // in which they run
	environment  []string
	hello, smoke []string // command lines
}

// run runs a program and returns its standard output.
func (r *rig) run(t *testing.T, p programs, command []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	began := time.Now()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = p.folder
	cmd.Env = append(append(os.Environ(), "KUBECONFIG="+r.cluster.Kubeconfig(), "PROXY="+r.proxy), p.environment...)
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v after %v\n%s%s", strings.Join(command, " "), err, time.Since(began).Round(time.Second), out.String(), said.String())
	}
	t.Logf("%s took %v", filepath.Base(command[len(command)-1]), time.Since(began).Round(100*time.Millisecond))
	return out.String()
}

// source returns the folder of a client.
func source(t *testing.T, language string) string {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join(root, "clients", language))
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// tool runs a program in a folder, and fails the test if it fails.
func tool(t *testing.T, folder, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}

// need skips the test if one of the programs is not on PATH.
func need(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("left out: %v", err)
		}
	}
}

func inGo(t *testing.T) programs {
	out := t.TempDir()
	tool(t, source(t, "go"), "go", "build", "-o", out, "./examples/...")
	return programs{folder: out, hello: []string{filepath.Join(out, "hello")}, smoke: []string{filepath.Join(out, "smoke")}}
}

// inTypeScript compiles like a project that has the client in a folder and openapi-fetch from npm.
func inTypeScript(t *testing.T) programs {
	need(t, "node", "npm")
	cmd := exec.CommandContext(t.Context(), "go", "run", "./clients", "-tools")
	cmd.Dir = filepath.Join(root, "tools")
	var said strings.Builder
	cmd.Stderr = &said
	where, err := cmd.Output()
	if err != nil && strings.Contains(said.String(), "node and npm, with a registry, are needed") {
		t.Skipf("left out: %s", said.String())
	} else if err != nil {
		t.Fatalf("install the tools: %v\n%s", err, said.String())
	}
	bin, folder := strings.TrimSpace(string(where)), t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(source(t, "typescript"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(bin), filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"type":"module"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	tool(t, folder, filepath.Join(bin, "tsc"), "--strict", "--module", "nodenext", "--target", "es2022", "--types", "node", "--outDir", "out", "examples/hello.ts", "examples/smoke.ts")
	return programs{folder: folder, hello: []string{"node", "out/hello.js"}, smoke: []string{"node", "out/smoke.js"}}
}

func inPython(t *testing.T) programs {
	need(t, "python3")
	folder := source(t, "python")
	return programs{folder: folder, environment: []string{"PYTHONPATH=" + folder, "PYTHONDONTWRITEBYTECODE=1"},
		hello: []string{"python3", "examples/hello.py"}, smoke: []string{"python3", "examples/smoke.py"}}
}

// inJava uses Jackson as Debian and its derivatives install it.
func inJava(t *testing.T) programs {
	need(t, "javac", "java")
	out := t.TempDir()
	path := out
	for _, part := range []string{"core", "annotations", "databind"} {
		jar := "/usr/share/java/jackson-" + part + ".jar"
		if _, err := os.Stat(jar); err != nil {
			t.Skipf("left out: %v (package libjackson2-%s-java)", err, part)
		}
		path += string(os.PathListSeparator) + jar
	}
	tool(t, source(t, "java"), "javac", "-d", out, "-cp", path, "-sourcepath", ".", "examples/Hello.java", "examples/Smoke.java")
	return programs{folder: out, hello: []string{"java", "-cp", path, "Hello"}, smoke: []string{"java", "-cp", path, "Smoke"}}
}
