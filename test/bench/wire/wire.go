package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"
)

// JSON and MergePatch are the content types of bodies.
const (
	JSON       = "application/json"
	MergePatch = "application/merge-patch+json"
)

// metadataOnly requests objects without spec and status.
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// Client sends requests to one API server as one user.
type Client struct {
	base string
	http *http.Client
}

// Dial makes a client; it opens no connection yet.
func Dial(config *rest.Config) (*Client, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", config.Host, err)
	}
	return &Client{base: config.Host, http: client}, nil
}

// StatusError is an unsuccessful answer of the API server.
type StatusError struct {
	Code    int
	Message string
}

func (e *StatusError) Error() string { return fmt.Sprintf("status %d: %s", e.Code, e.Message) }

// IsStatus reports whether the API server has answered with this code.
func IsStatus(err error, code int) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Code == code
}

// Send makes one request. The answer is decoded into answer unless that is nil.
func (c *Client) Send(ctx context.Context, method, path, contentType string, body []byte, answer any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", JSON)
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer response.Body.Close()
	if err := refusal(response); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if answer != nil {
		err = json.NewDecoder(response.Body).Decode(answer)
	} else {
		_, err = io.Copy(io.Discard, response.Body) // otherwise the connection is not reused
	}
	if err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	return nil
}

func refusal(response *http.Response) error {
	if response.StatusCode < 300 {
		return nil
	}
	var status struct{ Message string }
	_ = json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&status) // the code says enough
	return &StatusError{response.StatusCode, status.Message}
}

// Synced is the event after all initial objects.
const Synced = "SYNCED"

// Versioned is a pointer to something with a resource version.
type Versioned[T any] interface {
	*T
	Version() string
}

// errCut says that the API server has ended a stream, as it does if the client reads too slowly.
var errCut = errors.New("the stream was cut")

// Watch reports existing objects as ADDED, then Synced with an empty object, then changes, until the context ends, which is not
// an error. A stream that is cut after Synced is resumed where it was. The query may have selectors. With partial, objects have
// metadata only.
func Watch[T any, P Versioned[T]](ctx context.Context, c *Client, path string, query url.Values, partial bool, each func(event string, object P)) error {
	version := ""
	for {
		all := url.Values{"watch": {"1"}, "allowWatchBookmarks": {"true"}, "timeoutSeconds": {"7200"}}
		if version == "" {
			all.Set("sendInitialEvents", "true")
			all.Set("resourceVersionMatch", "NotOlderThan")
		} else {
			all.Set("resourceVersion", version)
		}
		for name, values := range query {
			all[name] = values
		}
		synced, err := follow(ctx, c, path+"?"+all.Encode(), partial, version != "", func(event string, object P) {
			if v := object.Version(); v != "" {
				version = v
			}
			if event != bookmark {
				each(event, object)
			}
		})
		if ctx.Err() != nil {
			return nil
		}
		if !synced || !errors.Is(err, errCut) {
			return fmt.Errorf("watch %s: %w", path, err)
		}
	}
}

const bookmark = "BOOKMARK"

// follow reads one stream until it ends; it returns whether all initial objects have been reported.
func follow[T any, P Versioned[T]](ctx context.Context, c *Client, path string, partial, synced bool, each func(event string, object P)) (bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return synced, fmt.Errorf("make a request: %w", err)
	}
	request.Header.Set("Accept", JSON)
	if partial {
		request.Header.Set("Accept", metadataOnly)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return synced, fmt.Errorf("begin: %w", err)
	}
	defer response.Body.Close()
	if err := refusal(response); err != nil {
		return synced, err
	}
	for events := json.NewDecoder(response.Body); ; {
		var e struct {
			Type   string
			Object json.RawMessage
		}
		if err := events.Decode(&e); err != nil {
			return synced, fmt.Errorf("%w: %w", errCut, err)
		}
		if e.Type == "ERROR" {
			return synced, fmt.Errorf("the API server ends the stream: %s", e.Object)
		}
		object := P(new(T))
		if err := json.Unmarshal(e.Object, object); err != nil {
			return synced, fmt.Errorf("read an object: %w", err)
		}
		each(e.Type, object)
		if e.Type == bookmark && !synced {
			synced = true
			each(Synced, P(new(T)))
		}
	}
}
