package operator

import (
	"fmt"
	"io"
	"net"
)

// Address reserves a loopback address. For the next minute only a process that names this port gets it, and no process that asks
// for any port. A connection that the listening side closes first keeps its port in the state TIME_WAIT, in which no system
// assigns it by itself. A port that is merely closed is free for every new connection.
func Address() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return "", fmt.Errorf("reserve a port: %w", err)
	}
	defer client.Close()
	server, err := listener.Accept()
	if err != nil {
		return "", fmt.Errorf("reserve a port: %w", err)
	}
	server.Close()
	if _, err := client.Read(make([]byte, 1)); err != io.EOF { // the listening side has closed first
		return "", fmt.Errorf("reserve a port: %w", err)
	}
	return listener.Addr().String(), nil
}
