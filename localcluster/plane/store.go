package plane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	grpctls "google.golang.org/grpc/credentials"

	"stoic/localcluster/supervise"
)

// The stores:
//
//	--store         what runs                         where the objects are                    save, restore
//	etcd            etcd                              DIR/etcd                                 yes
//	kine            KINE (the module kine)            DIR/kine/state.db, a database of SQLite  yes
//	postgres://...  KINE                              a database that somebody else runs       no
//	mysql://...     KINE                              a database that somebody else runs       no
//
// The part is called etcd whichever it is: the API server takes it for one.
const kine = "kine"

// storePatience is how long the store may take for one answer.
const storePatience = 5 * time.Second

// isKine: the store is not etcd.
func (o Options) isKine() bool { return o.Store != "" && o.Store != store }

// isElsewhere: the objects are in a database that is not ours.
func (o Options) isElsewhere() bool { return o.isKine() && o.Store != kine }

// checkStore says what is wrong with --store and --store-program. It repeats no URL: there is a password in it.
func (o Options) checkStore() error {
	switch {
	case !o.isKine():
		return nil
	case o.StoreProgram == "":
		return fmt.Errorf("a store that is not %s needs --store-program, the executable of KINE", store)
	case !o.isElsewhere():
		return nil
	}
	scheme, _, found := strings.Cut(o.Store, "://")
	if !found || !slices.Contains([]string{"postgres", "postgresql", "mysql"}, scheme) {
		return errors.New("--store must be etcd, kine, postgres://... or mysql://...")
	}
	return nil
}

// endpoint of KINE. Of SQLite: one writer at a time waits for the other instead of failing, and the data need not survive a power
// cut, as with etcd. What is named here replaces all that KINE would choose.
func (l layout) endpoint(o Options) string {
	if o.isElsewhere() {
		return o.Store
	}
	return "sqlite://" + filepath.Join(l.data(o), "state.db") +
		"?_journal_mode=WAL&_busy_timeout=30000&_synchronous=OFF&_txlock=immediate&_stmt_cache_size=20&cache=shared"
}

// kineArguments: nothing but the API server's port is listened on, and only who has a certificate of ours is answered. The API
// server compacts, as it does with etcd.
func (l layout) kineArguments(p ports, o Options) []string {
	return []string{
		"--endpoint=" + l.endpoint(o), fmt.Sprintf("--listen-address=127.0.0.1:%d", p.Store), "--metrics-bind-address=0",
		"--server-cert-file=" + l.secret("server.crt"), "--server-key-file=" + l.secret("server.key"), "--trusted-ca-file=" + l.secret("ca.crt"),
		"--compact-interval=0",
	}
}

// prepareStore makes the folder of the database.
func (l layout) prepareStore(o Options) error {
	if !o.isKine() || o.isElsewhere() {
		return nil // etcd makes its own
	}
	if err := os.MkdirAll(l.data(o), 0o700); err != nil {
		return fmt.Errorf("make the folder of the store: %w", err)
	}
	return nil
}

// awaitKine waits until KINE answers. It has no address that tells its health, so it is asked for a key as the API server asks.
func (p *plane) awaitKine(ctx context.Context) (err error) {
	listens := fmt.Sprintf("127.0.0.1:%d", p.ports.Store)
	if err := await(ctx, kine+" listens", p.children, func() (bool, string) { return dials(ctx, listens) }); err != nil {
		return err // else gRPC complains of every attempt, on standard error
	}
	connection, err := grpc.NewClient(listens, grpc.WithTransportCredentials(grpctls.NewTLS(p.client.tls.Clone())))
	if err != nil {
		return fmt.Errorf("connect to the store: %w", err)
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	asker := etcdserverpb.NewKVClient(connection)
	return await(ctx, kine+" is ready", p.children, func() (bool, string) {
		asking, cancel := context.WithTimeout(ctx, storePatience)
		defer cancel()
		if _, err := asker.Range(asking, &etcdserverpb.RangeRequest{Key: []byte("/registry/health")}, grpc.WaitForReady(true)); err != nil {
			return false, err.Error()
		}
		return true, ""
	})
}

// dials says whether somebody listens at an address, and why not.
func dials(ctx context.Context, address string) (bool, string) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp4", address)
	if err != nil {
		return false, err.Error()
	}
	if err := c.Close(); err != nil {
		return false, err.Error()
	}
	return true, ""
}

// runs is the program of a part, with its arguments.
func (p *plane) runs(part string) supervise.Spec {
	arguments := p.layout.arguments(part, p.ports, p.options)
	if part == store && p.options.isKine() {
		return supervise.Spec{Program: p.options.StoreProgram, Args: arguments}
	}
	return supervise.Spec{Program: p.program(), Args: append([]string{part}, arguments...)}
}
