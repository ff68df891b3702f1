package controller

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"k8s.io/client-go/rest"

	"stoic/training/kinds"
)

// TestOptions: New returns an error for options that cannot work.
func TestOptions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"sound":       {func(*Options) {}, ""},
		"a dot":       {func(o *Options) { o.Name = "foo.example.com" }, `Name: found "foo.example.com", must be lower-case letters, digits and -, and begin with a letter: metrics and events carry it`},
		"no config":   {func(o *Options) { o.Config = nil }, "Config is nil, must say where the API server is"},
		"no log":      {func(o *Options) { o.Log = nil }, "Log is nil, must be a logger, such as zap.NewNop()"},
		"no registry": {func(o *Options) { o.Registry = nil }, "Registry is nil, must be one of Prometheus"},
		"no clock":    {func(o *Options) { o.Now = nil }, "Now is nil, must be a clock, such as time.Now"},
		"no worker":   {func(o *Options) { o.Workers = 0 }, "Workers: found 0, must be 1 or more"},
		"no events":   {func(o *Options) { o.EventQPS = 0 }, "EventQPS: found 0, must be the number of events per second, or negative for no limit"},
		"no identity": {func(o *Options) { o.Identity = "" }, "Identity: not found, must be the name of the pod, or another that no other process has"},
		"no watch":    {func(o *Options) { o.Watches = nil }, "no resource to watch"},
		"a watch":     {func(o *Options) { o.Watches[0].Decide = nil }, "the watch of tfjobs: Decide is nil, must be a function"},
	} {
		o := Options{Name: "training-operator", Config: &rest.Config{Host: "http://127.0.0.1:1"}, Workers: 1, EventQPS: 1, Identity: "me", Log: zap.NewNop(),
			Registry: prometheus.NewRegistry(), Now: time.Now}
		o.Watches = jobs(&o, kinds.TFJob())
		c.change(&o)
		got := ""
		if _, err := New(o); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}
