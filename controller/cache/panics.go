package cache

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/convert"
	"stoic/schema"
)

// authorPanics counts the panics of an author's functions that informers call: converters, Slim, Same, Claims. A panic in the goroutine
// of an informer would end the process, and again after each start. Each version of an object is logged once, although every list reads
// it again.
type authorPanics struct {
	log   *zap.Logger
	count prometheus.Counter

	mu     sync.Mutex
	logged map[types.UID]string // the last version of an object that was logged
}

func newAuthorPanics(log *zap.Logger, count prometheus.Counter) *authorPanics {
	return &authorPanics{log: log, count: count, logged: map[types.UID]string{}}
}

// note counts and logs the panic of a conversion, if there was one. The cache does not keep the stack.
func (c *authorPanics) note(result *convert.Result) {
	if result.Panic == nil {
		return
	}
	c.add("the converter panicked; the object is rejected", result, result.Panic)
	result.Panic.Stack = nil
}

func (c *authorPanics) add(message string, about metav1.ObjectMetaAccessor, p *convert.Panic) {
	c.count.Inc()
	if meta := about.GetObjectMeta(); c.isNew(meta.GetUID(), meta.GetResourceVersion()) {
		c.log.Error(message, zap.String("object", schema.Clean(meta.GetNamespace()+"/"+meta.GetName(), 400)), zap.String("uid", string(meta.GetUID())),
			zap.String("resourceVersion", meta.GetResourceVersion()), zap.String("panic", p.Cause), zap.ByteString("stack", p.Stack))
	}
}

// guarded calls an author's function about an object. If it panics, the answer is the zero value, and message says what follows from
// that.
func guarded[T any](c *authorPanics, message string, about metav1.ObjectMetaAccessor, call func() T) (answer T) {
	defer func() {
		if p := recover(); p != nil {
			c.add(message, about, convert.NewPanic(p))
		}
	}()
	return call()
}

func (c *authorPanics) isNew(uid types.UID, version string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, known := c.logged[uid]
	c.logged[uid] = version
	return !known || was != version
}

func (c *authorPanics) forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.logged, uid)
}

func (c *authorPanics) forgetAll(gone func(types.UID) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.logged, func(uid types.UID, _ string) bool { return gone(uid) })
}
