package versions

import "testing"

const key = "example.com/conversion"

// gadgets returns a kind whose tables use everything that tables can have.
func gadgets() Kind {
	return Kind{Group: "example.com", Name: "Gadget", Hub: "v1", Annotation: key, Versions: []Version{
		{ // flat fields that the hub has in an object of its own
			Name: "v1beta1",
			Moves: []Move{
				{Here: "spec.clean", Hub: "spec.policy.clean", Default: "Running", HubDefault: "None"},
				{Here: "spec.ttl", Hub: "spec.policy.ttl"},
				{Here: "status.states", Hub: "status.replicaStates"},
			},
			Only:    []string{"spec.chief"},
			HubOnly: []string{"spec.policy", "spec.success"},
		},
		{ // a default that differs at the same place, a place that counts instead of another, fields of its own
			Name: "v2beta1",
			Moves: []Move{
				{Here: "spec.roles.Launcher.restart", Hub: "spec.roles.Launcher.restart", Default: "OnFailure", HubDefault: "Never"},
				{Here: "spec.policy.clean", Hub: "spec.policy.clean", HubInstead: "spec.clean"},
			},
			Only:    []string{"spec.implementation", "spec.ssh.path"},
			HubOnly: []string{"spec.main", "spec.clean"},
		},
		{ // places within each other, a place that is another thing in either version
			Name: "v3alpha1",
			Moves: []Move{
				{Here: "spec.mode", Hub: "spec.mode.name"},
				{Here: "spec.a", Hub: "spec.b"},
				{Here: "spec.b", Hub: "spec.a"},
				{Here: "spec.size", Hub: "spec.size", Default: int64(1), HubDefault: int64(0)},
			},
			Only: []string{"data", "spec.policy.ttl"},
		},
	}}
}

func converterOf(t interface {
	Helper()
	Fatal(...any)
}, k Kind) *Converter {
	t.Helper()
	c, err := k.Converter()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestWrongTables: a table that would break the law is refused, with an error that names the problem.
func TestWrongTables(t *testing.T) {
	table := func(v Version) Kind {
		v.Name = "v2"
		return Kind{Group: "example.com", Name: "Gadget", Hub: "v1", Annotation: key, Versions: []Version{v}}
	}
	moves := func(m ...Move) Kind { return table(Version{Moves: m}) }
	for want, k := range map[string]Kind{
		"a kind has a group, a name and a hub":                               {Annotation: key},
		`the annotation "": name part must be non-empty`:                     {Group: "g", Name: "K", Hub: "v1"},
		`version "v1": has no name, or that of another one`:                  {Group: "g", Name: "K", Hub: "v1", Annotation: key, Versions: []Version{{Name: "v1"}}},
		`version "v2": has no name, or that of another one`:                  {Group: "g", Name: "K", Hub: "v1", Annotation: key, Versions: []Version{{Name: "v2"}, {Name: "v2"}}},
		`version "": has no name`:                                            {Group: "g", Name: "K", Hub: "v1", Annotation: key, Versions: []Version{{}}},
		`"metadata.labels" is no place that can differ`:                      table(Version{Only: []string{"metadata.labels"}}),
		`"kind" is no place that can differ`:                                 table(Version{HubOnly: []string{"kind"}}),
		`"spec..a" is no place that can differ`:                              moves(Move{Here: "spec..a", Hub: "spec.b"}),
		`"" is no place that can differ`:                                     moves(Move{Hub: "spec.b"}),
		"the defaults are x and x, must be two different":                    moves(Move{Here: "a", Hub: "b", Default: "x", HubDefault: "x"}),
		"the defaults are 1 and 1, must be two different":                    moves(Move{Here: "a", Hub: "b", Default: int64(1), HubDefault: 1.0}),
		"the defaults are x and <nil>, must be two different":                moves(Move{Here: "a", Hub: "b", Default: "x"}),
		"the defaults are  and x, must be two different":                     moves(Move{Here: "a", Hub: "b", Default: "", HubDefault: "x"}),
		"the defaults are [x] and y, must be two different":                  moves(Move{Here: "a", Hub: "b", Default: []any{"x"}, HubDefault: "y"}),
		"it has defaults and a place that counts instead":                    table(Version{Moves: []Move{{Here: "a", Hub: "b", Default: "x", HubDefault: "y", HubInstead: "c"}}, HubOnly: []string{"c"}}),
		"c, which counts instead, is not a place that the hub alone has":     moves(Move{Here: "a", Hub: "b", HubInstead: "c"}),
		"c.d, which counts instead, is in c":                                 table(Version{Moves: []Move{{Here: "a", Hub: "b", HubInstead: "c.d"}}, HubOnly: []string{"c", "c.d"}}),
		"it says nothing":                                                    moves(Move{Here: "a", Hub: "a"}),
		"a and a, or where they go, are the same place or in each other":     moves(Move{Here: "a", Hub: "b"}, Move{Here: "a", Hub: "c"}),
		"a.x and a, or where they go, are the same place or in each other":   moves(Move{Here: "a", Hub: "b"}, Move{Here: "a.x", Hub: "c"}),
		"a and c, or where they go, are the same place or in each other":     moves(Move{Here: "a", Hub: "b.x"}, Move{Here: "c", Hub: "b.x"}),
		"spec.policy stands between spec.clean and spec.policy.clean and is": moves(Move{Here: "spec.clean", Hub: "spec.policy.clean"}),
		"a.b is in both versions, but a is not":                              table(Version{Moves: []Move{{Here: "a.b", Hub: "a.b", Default: "x", HubDefault: "y"}}, Only: []string{"a"}}),
		"a.b is in a, which both versions have":                              table(Version{Moves: []Move{{Here: "a", Hub: "c"}}, Only: []string{"a.b"}}),
		"c is in c, which both versions have":                                table(Version{Moves: []Move{{Here: "a", Hub: "c"}}, HubOnly: []string{"c"}}),
	} {
		if _, err := k.Converter(); err == nil || !contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	c := converterOf(t, gadgets())
	if got := c.Versions(); len(got) != 4 || got[0] != "v1" || got[3] != "v3alpha1" || c.Kind().Name != "Gadget" {
		t.Errorf("versions %v of %s", got, c.Kind().Name)
	}
}
