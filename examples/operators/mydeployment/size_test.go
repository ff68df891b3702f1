package mydeployment

import (
	"slices"
	"testing"

	"stoic/test/source"
)

// written is what the author of this operator writes by hand.
// Beside it are tests, types, and their defaults and validation (validate.go).
func written() source.Operator {
	return source.Operator{Written: []string{"decide.go", "cmd/main.go"}, Beside: []string{"types.go", "validate.go"},
		Imports: []string{"stoic/examples/operators/mydeployment", "k8s.io/api/core/v1"},
		Time: func(name string) bool {
			return !slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}, name)
		}}
}

func TestSize(t *testing.T) { written().Size(t) }

func TestOnTheEngineAlone(t *testing.T) { written().OnTheEngineAlone(t) }
