package mydeployment

import (
	"flag"
	"testing"

	"stoic/test/decision"
)

var update = flag.Bool("update", false, "write the plans of testdata anew")

// TestDecide compares the plans for the MyDeployments in testdata.
func TestDecide(t *testing.T) { decision.Golden(t, Watches(), 20, *update) }
