package versions

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
)

func decode(data []byte) (object map[string]any, ok bool) {
	err := json.Unmarshal(data, &object)
	return object, err == nil && object != nil
}

// large returns an object of about 10 KB, a usual size: most of it is pod templates, which no table names.
func large() map[string]any {
	env := make([]string, 100)
	for i := range env {
		env[i] = fmt.Sprintf("{name: VARIABLE_%d, value: value-of-%d}", i, i)
	}
	role := "{replicas: 2, template: {spec: {containers: [{name: main, image: registry.example.com/image:1, command: [run, --all], env: [" + strings.Join(env, ", ") + "], resources: {limits: {cpu: 1, memory: 2Gi}}}]}}}"
	return gadget("v1", "spec: {policy: {clean: All, ttl: 5, suspend: true}, success: x, roles: {Launcher: "+role+", Worker: "+role+"}}\nstatus: {replicaStates: {Worker: {active: 1}}}")
}

// BenchmarkConvert measures what a webhook does with one object apart from HTTP: decoding, conversion, encoding. The goal is 0.2
// ms. If a machine misses it, decoding takes nearly all the time, as the parts show.
func BenchmarkConvert(b *testing.B) {
	c := converterOf(b, gadgets())
	text := []byte(jsonOf(large()))
	if len(text) < 8<<10 || len(text) > 12<<10 {
		b.Fatalf("%d bytes", len(text))
	}
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			object, _ := decode(text)
			r, err := c.Convert(object, "v1beta1")
			if err != nil || r.Outcome != Converted {
				b.Fatal(err, r.Outcome)
			}
			_ = jsonOf(r.Object)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := json.Unmarshal(text, &map[string]any{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	object := large()
	b.Run("convert", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Convert(object, "v1beta1"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
