package proxy

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// connections is a listener that can cut the connections that it has accepted, and accept no more for a while.
type connections struct {
	net.Listener
	mu     sync.Mutex
	silent bool
	open   map[*connection]bool
}

type connection struct {
	net.Conn
	of      *connections
	process string // whose requests it carries
}

// connectionKey is the key in the context of a request.
type connectionKey struct{}

// withConnection puts the connection into the context of its requests.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// belongs records which process uses a connection.
func (c *connections) belongs(ctx context.Context, process string) {
	if conn, ok := ctx.Value(connectionKey{}).(*connection); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		conn.process = process
	}
}

// cutOf cuts every connection of a process.
func (c *connections) cutOf(process string) {
	c.mu.Lock()
	var cut []*connection
	for conn := range c.open {
		if conn.process == process {
			cut = append(cut, conn)
		}
	}
	c.mu.Unlock()
	for _, conn := range cut {
		conn.Close()
	}
}

func (c *connections) Accept() (net.Conn, error) {
	for {
		raw, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if conn := c.admit(raw); conn != nil {
			return conn, nil
		}
		raw.Close()
	}
}

func (c *connections) admit(raw net.Conn) *connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent {
		return nil
	}
	conn := &connection{Conn: raw, of: c}
	c.open[conn] = true
	return conn
}

// silence cuts every connection; new ones are cut until it is called with false.
func (c *connections) silence(on bool) {
	c.mu.Lock()
	c.silent = on
	var cut []*connection
	if on {
		for conn := range c.open {
			cut = append(cut, conn)
		}
	}
	c.mu.Unlock()
	for _, conn := range cut {
		conn.Close()
	}
}

func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
