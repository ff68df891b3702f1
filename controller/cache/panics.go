package cache

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/types"

	"stoic/convert"
	"stoic/schema"
)

// converterPanics counts the conversions that panicked and logs each version of an object once: it is converted again at
// every list.
type converterPanics struct {
	log   *zap.Logger
	count prometheus.Counter

	mu     sync.Mutex
	logged map[types.UID]string // the last version of an object that was logged
}

func newConverterPanics(log *zap.Logger, count prometheus.Counter) *converterPanics {
	return &converterPanics{log: log, count: count, logged: map[types.UID]string{}}
}

// note what a conversion has come to. The cache does not keep the stack.
func (c *converterPanics) note(result *convert.Result) {
	if result.Panic == nil {
		return
	}
	c.count.Inc()
	stack := result.Panic.Stack
	result.Panic.Stack = nil
	if meta := result.Meta; c.isNew(meta.UID, meta.ResourceVersion) {
		c.log.Error("the converter panicked; the object is rejected", zap.String("object", schema.Clean(result.Key(), 400)), zap.String("uid", string(meta.UID)),
			zap.String("resourceVersion", meta.ResourceVersion), zap.String("panic", result.Panic.Cause), zap.ByteString("stack", stack))
	}
}

func (c *converterPanics) isNew(uid types.UID, version string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, known := c.logged[uid]
	c.logged[uid] = version
	return !known || was != version
}

func (c *converterPanics) forgetAll(gone func(types.UID) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.logged, func(uid types.UID, _ string) bool { return gone(uid) })
}
