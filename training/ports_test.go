package training_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"stoic/training"
)

func TestServicePorts(t *testing.T) {
	for name, test := range map[string]struct{ declared, want string }{
		"none":                            {"", ""},
		"one":                             {"tfjob-port=2222", "tfjob-port=2222"},
		"one without a name":              {"=80", "port-80=80"},
		"in the author's order":           {"z=1 tfjob-port=2222 a=3", "z=1 tfjob-port=2222 a=3"},
		"a number once, its first name":   {"a=1 b=1 c=2", "a=1 c=2"},
		"a number that is named later":    {"=1 b=1 c=2", "b=1 c=2"},
		"a number whose name is taken":    {"a=1 =2 a=2 b=2", "a=1 b=2"},
		"a name once, at its first":       {"metrics=1 metrics=2", "metrics=1 port-2=2"},
		"a name that is made up is taken": {"=80 port-80=81", "port--80=80 port-80=81"},
		"both are made up":                {"port-81=80 port-80=81 port-81=82 =83", "port-81=80 port-80=81 port-82=82 port-83=83"},
		"a name that no port can have":    {"Web=80 a--b=81 -a=82 a-=83 12=84 a.b=85 sixteen-letters-=86 sixteen-letters0=87", "port-80=80 port-81=81 port-82=82 port-83=83 port-84=84 port-85=85 port-86=86 port-87=87"},
		"a number that no port can have":  {"a=0 b=-1 c=65536 d=65535 e=1", "d=65535 e=1"},
		"a name of all that is allowed":   {"a-0-b-9-z-12345=1 0a=2", "a-0-b-9-z-12345=1 0a=2"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, writtenPorts(training.ServicePorts(readPorts(t, test.declared)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// readPorts reads ports such as "web=80 =81".
func readPorts(t *testing.T, text string) (ports []training.Port) {
	t.Helper()
	for _, one := range strings.Fields(text) {
		name, digits, _ := strings.Cut(one, "=")
		var number int32
		if _, err := fmt.Sscan(digits, &number); err != nil {
			t.Fatal(err)
		}
		ports = append(ports, training.Port{Name: name, Number: number})
	}
	return ports
}

func writtenPorts(ports []training.Port) string {
	texts := make([]string, len(ports))
	for i, port := range ports {
		texts[i] = fmt.Sprintf("%s=%d", port.Name, port.Number)
	}
	return strings.Join(texts, " ")
}

// TestServicePortsAreAccepted: an API server accepts the ports of a Service, whatever is declared. None is missing.
func TestServicePortsAreAccepted(t *testing.T) {
	port := rapid.Custom(func(t *rapid.T) training.Port {
		return training.Port{
			Name:   rapid.SampledFrom([]string{"", "a", "b", "port-1", "port--1", "port-2", "A", strings.Repeat("x", 64)}).Draw(t, "name"),
			Number: rapid.SampledFrom([]int32{-1, 0, 1, 2, 3, 65535, 65536}).Draw(t, "number"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		declared := rapid.SliceOf(port).Draw(t, "declared")
		ports := training.ServicePorts(declared)
		names := map[string]bool{}
		numbers := map[int32]bool{}
		for _, p := range ports {
			if names[p.Name] || numbers[p.Number] || len(validation.IsDNS1123Label(p.Name)) > 0 || len(validation.IsValidPortNum(int(p.Number))) > 0 {
				t.Fatalf("%v are not accepted: %v", ports, p)
			}
			names[p.Name] = true
			numbers[p.Number] = true
		}
		for _, p := range declared {
			if len(validation.IsValidPortNum(int(p.Number))) == 0 && !numbers[p.Number] {
				t.Fatalf("%v is missing in %v", p, ports)
			}
		}
		if again := training.ServicePorts(ports); !slices.Equal(ports, again) {
			t.Fatalf("%v, and again %v", ports, again)
		}
	})
}

// TestServicePortsAreBounded: more ports than a Service can hold are left out.
func TestServicePortsAreBounded(t *testing.T) {
	var declared []training.Port
	for number := range int32(65_536) {
		declared = append(declared, training.Port{Number: number})
	}
	ports := training.ServicePorts(declared)
	if last := ports[len(ports)-1].Number; len(ports) != training.MaxServicePorts || last != training.MaxServicePorts {
		t.Errorf("%d ports up to %d", len(ports), last)
	}
}
