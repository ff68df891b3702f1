package plane

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"stoic/localcluster/supervise"
)

// probeInterval is how often a part is asked whether it is ready. Parts have no
// way to tell it by themselves.
const probeInterval = 50 * time.Millisecond

// client talks to the parts as the admin.
type client struct {
	http   *http.Client
	tls    *tls.Config
	server string
}

func newClient(c *credentials, p ports) (*client, error) {
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(c.authority.Certificate()) {
		return nil, errors.New("read the authority's certificate: it is not PEM")
	}
	pair, err := tls.X509KeyPair(c.admin.Certificate, c.admin.Key)
	if err != nil {
		return nil, fmt.Errorf("read the admin's certificate: %w", err)
	}
	made := &client{tls: &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, server: address(p.Server)}
	transport := &http.Transport{
		TLSClientConfig: made.tls,
		Proxy:           nil, // everything is on this machine, whatever the environment says
	}
	made.http = &http.Client{Transport: transport, Timeout: 30 * time.Second}
	return made, nil
}

func (c *client) close() { c.http.CloseIdleConnections() }

// do sends one request and returns the answer's status and body.
func (c *client) do(ctx context.Context, method, url, contentType string, body []byte) (int, []byte, error) {
	header := map[string]string{}
	if contentType != "" {
		header["Content-Type"] = contentType
	}
	return c.ask(ctx, method, url, header, body)
}

// ask is do with any header.
func (c *client) ask(ctx context.Context, method, url string, header map[string]string, body []byte) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("make a request for %s: %w", url, err)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, fmt.Errorf("read the answer to %s %s: %w", method, url, err)
	}
	return response.StatusCode, content, nil
}

// apply is a forced server-side apply: it takes fields over from other managers.
func (c *client) apply(ctx context.Context, url string, document []byte) (int, []byte, error) {
	return c.do(ctx, http.MethodPatch, url+"?fieldManager=localcluster&force=true", "application/apply-patch+yaml", document)
}

// create posts an object. One that exists already is left as it is, because the
// directory of an earlier cluster may be used again.
func (c *client) create(ctx context.Context, path string, object any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode an object for %s: %w", path, err)
	}
	code, answer, err := c.do(ctx, http.MethodPost, c.server+path, "application/json", body)
	if err != nil {
		return err
	}
	if code/100 != 2 && code != http.StatusConflict {
		return fmt.Errorf("create an object at %s: status %d: %s", path, code, answer)
	}
	return nil
}

// await asks until the condition holds. It gives up when the context ends or
// when one of the children does.
func await(ctx context.Context, what string, children []*supervise.Child, holds func() (bool, string)) error {
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		ok, state := holds()
		if ok {
			return nil
		}
		for _, child := range children {
			if failure := child.Failure(); failure != nil {
				return failure
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w; last seen: %s", what, context.Cause(ctx), state)
		case <-ticker.C:
		}
	}
}

// awaitOK waits until the URL answers 200 with the words, if there are any.
func (c *client) awaitOK(ctx context.Context, what, url, words string, children []*supervise.Child) error {
	return await(ctx, what, children, func() (bool, string) {
		code, answer, err := c.do(ctx, http.MethodGet, url, "", nil)
		if err != nil {
			return false, err.Error()
		}
		return code == http.StatusOK && bytes.Contains(answer, []byte(words)), fmt.Sprintf("status %d: %s", code, answer)
	})
}
