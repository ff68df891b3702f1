package program

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// endpoint is one address that the operator listens on, and what it answers there.
type endpoint struct {
	flag, address string // the flag that gave the address, and the address or "0"
	handler       http.Handler
	tls           *tls.Config // nil: it speaks plain HTTP
	listener      net.Listener
}

// listen opens all endpoints except those whose address is "0". If one cannot be opened, all are closed.
func listen(endpoints []endpoint) (open []endpoint, err error) {
	for _, e := range endpoints {
		if e.address == "0" {
			continue
		}
		if e.listener, err = net.Listen("tcp", e.address); err != nil {
			err = fmt.Errorf("%s: %w", e.flag, err)
			for _, o := range open {
				err = errors.Join(err, o.listener.Close())
			}
			return nil, err
		}
		if e.tls != nil {
			e.listener = tls.NewListener(e.listener, e.tls)
		}
		open = append(open, e)
	}
	return open, nil
}
