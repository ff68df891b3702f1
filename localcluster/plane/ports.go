package plane

import (
	"errors"
	"fmt"
	"net"
)

// choosePorts finds ports that nobody listens on now. Somebody may take one
// before the part binds it; then the start is repeated with new ports.
func choosePorts() (ports, error) {
	var p ports
	var listeners []net.Listener
	var failures []error
	for _, port := range []*int{&p.Store, &p.Peer, &p.Server, &p.Definitions, &p.Controllers, &p.Scheduler, &p.Kubelets} {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			failures = append(failures, fmt.Errorf("find a free port: %w", err))
			break
		}
		// Held until all are chosen, else the same port could come up twice.
		listeners = append(listeners, listener)
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	for _, listener := range listeners {
		if err := listener.Close(); err != nil {
			failures = append(failures, fmt.Errorf("give back a port: %w", err))
		}
	}
	return p, errors.Join(failures...)
}
