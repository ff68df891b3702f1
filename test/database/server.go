//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience is how long a server may take to start, and to stop.
const patience = time.Minute

// settings are the folder of a server's files, and how clients reach it.
type settings struct {
	dir      string // of everything
	port     int
	password string
}

func (s settings) path(name string) string { return filepath.Join(s.dir, name) }

// product is one kind of server.
type product struct {
	account string // which the package created; root may not run a server, or should not
	folders string // where programs are that are not on PATH, as a pattern
	// prepare, serve and ready are command lines: they create the folder "data", run the server, and succeed when it answers.
	// files are written before.
	files                 func(settings) map[string]string
	prepare, serve, ready func(settings) []string
	// stop is the signal that ends the server without waiting for its clients.
	stop syscall.Signal
	// url of KINE; {name} is the database.
	url func(settings) string
}

func products() map[string]product {
	return map[string]product{
		"postgres": {
			account: "postgres", folders: "/usr/lib/postgresql/*/bin", stop: syscall.SIGINT,
			files: func(s settings) map[string]string { return map[string]string{"password": s.password + "\n"} },
			prepare: func(s settings) []string {
				return []string{"initdb", "--pgdata=" + s.path("data"), "--username=kine", "--auth=scram-sha-256", "--pwfile=" + s.path("password"), "--no-sync"}
			},
			serve: func(s settings) []string {
				return []string{"postgres", "-D", s.path("data"), "-p", strconv.Itoa(s.port), "-k", s.dir, "-c", "listen_addresses=127.0.0.1",
					"-c", "max_connections=500", "-c", "fsync=off", "-c", "synchronous_commit=off"}
			},
			ready: func(s settings) []string {
				return []string{"pg_isready", "--host=127.0.0.1", "--port=" + strconv.Itoa(s.port)}
			},
			url: func(s settings) string {
				return fmt.Sprintf("postgres://kine:%s@127.0.0.1:%d/{name}?sslmode=disable", s.password, s.port)
			},
		},
		"mariadb": {
			account: "mysql", folders: "/usr/sbin", stop: syscall.SIGTERM,
			files: func(s settings) map[string]string {
				return map[string]string{"users.sql": fmt.Sprintf("CREATE USER kine@'127.0.0.1' IDENTIFIED BY '%s';\nGRANT ALL ON *.* TO kine@'127.0.0.1';\n", s.password)}
			},
			prepare: func(s settings) []string {
				return []string{"mariadb-install-db", "--no-defaults", "--datadir=" + s.path("data"), "--skip-test-db", "--auth-root-authentication-method=socket"}
			},
			serve: func(s settings) []string {
				return []string{"mariadbd", "--no-defaults", "--datadir=" + s.path("data"), "--bind-address=127.0.0.1", "--port=" + strconv.Itoa(s.port), "--socket=" + s.path("socket"),
					"--init-file=" + s.path("users.sql"), "--skip-name-resolve", "--skip-log-bin", "--max-connections=500", "--innodb-flush-log-at-trx-commit=0",
					// KINE reads concurrent writes of others; later releases reject that by default.
					"--loose-innodb-snapshot-isolation=OFF"}
			},
			ready: func(s settings) []string {
				return []string{"mariadb-admin", "--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--port=" + strconv.Itoa(s.port), "--user=kine", "--password=" + s.password, "--silent", "ping"}
			},
			url: func(s settings) string {
				return fmt.Sprintf("mysql://kine:%s@tcp(127.0.0.1:%d)/{name}", s.password, s.port)
			},
		},
	}
}

// errNotInstalled: the server's programs are not on this machine.
var errNotInstalled = errors.New("it is not installed")

// server is a running server.
type server struct {
	product
	settings
	url     string
	command *exec.Cmd
	ended   chan struct{} // closed when the server has ended
	exit    error         // valid then
	log     *os.File
}

// start starts a server, and returns when it answers.
func start(ctx context.Context, name string) (*server, error) {
	p, known := products()[name]
	if !known {
		return nil, fmt.Errorf("there is no server %q: use postgres or mariadb", name)
	}
	dir, err := os.MkdirTemp("", "stoic-database-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for %s: %w", name, err)
	}
	s := &server{product: p, settings: settings{dir: dir, password: rand.Text()}, ended: make(chan struct{})}
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), s.stop())
	}
	return s, nil
}

// begin prepares the server and runs it until it answers. Whatever it returns, the caller must call stop.
func (s *server) begin(ctx context.Context) (err error) {
	if s.port, err = freePort(); err != nil {
		return err
	}
	s.url = s.product.url(s.settings)
	if err := s.write(); err != nil {
		return err
	}
	prepare, err := s.program(ctx, s.prepare(s.settings))
	if err != nil {
		return err
	}
	if out, err := prepare.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	command, err := s.program(context.WithoutCancel(ctx), s.serve(s.settings))
	if err != nil {
		return err
	}
	command.Stdout, command.Stderr = s.log, s.log
	if err := command.Start(); err != nil {
		return err
	}
	s.command = command
	go func() { s.exit = command.Wait(); close(s.ended) }()
	return s.await(ctx)
}

// write writes the files that the server reads, owned by its account.
func (s *server) write() (err error) {
	if s.log, err = os.Create(s.path("log")); err != nil {
		return err
	}
	for name, text := range s.files(s.settings) {
		if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	as, err := s.credential()
	if err != nil || as == nil {
		return err
	}
	return filepath.WalkDir(s.dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, int(as.Uid), int(as.Gid)))
	})
}

// credential returns that of the account that runs the server; nil if this process is not root's.
func (s *server) credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup(s.account)
	if unknown := user.UnknownUserError(""); errors.As(err, &unknown) {
		return nil, errNotInstalled
	}
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.ParseUint(account.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(account.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

// program returns a command of the server, which runs as its account. It ends with this process.
func (s *server) program(ctx context.Context, words []string) (*exec.Cmd, error) {
	file, err := exec.LookPath(words[0])
	if err != nil {
		found, _ := filepath.Glob(filepath.Join(s.folders, words[0])) // the pattern is ours
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: %w", words[0], errNotInstalled)
		}
		file = slices.Max(found)
	}
	as, err := s.credential()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, file, words[1:]...)
	command.Dir, command.Env = s.dir, append(os.Environ(), "TMPDIR="+s.dir)
	command.SysProcAttr = &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGKILL}
	return command, nil
}

// await waits for the server's first answer.
func (s *server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it took longer than %s", patience))
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		ready, err := s.program(ctx, s.ready(s.settings))
		if err != nil {
			return err
		}
		if ready.Run() == nil {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("it ended early (%v):\n%s", s.exit, s.tail())
		case <-ctx.Done():
			return fmt.Errorf("%w:\n%s", context.Cause(ctx), s.tail())
		case <-tick.C:
		}
	}
}

// tail returns the end of the server's log.
func (s *server) tail() string {
	text, err := os.ReadFile(s.path("log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}

// stop stops the server, if it runs, and removes its files.
func (s *server) stop() error {
	var failed []error
	if s.command != nil {
		_ = s.command.Process.Signal(s.product.stop) // one that has ended needs none
		select {
		case <-s.ended:
		case <-time.After(patience):
			failed = append(failed, errors.New("the server did not stop, and was killed"), s.command.Process.Kill())
			<-s.ended
		}
	}
	if s.log != nil {
		failed = append(failed, s.log.Close())
	}
	return errors.Join(append(failed, os.RemoveAll(s.dir))...)
}

// freePort returns a loopback port on which no server listens.
func freePort() (int, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
