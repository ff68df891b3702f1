package program

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stoic/controller"
)

// plurals returns the plurals of what is served, each once.
func plurals(watches []controller.Watch) (names []string) {
	for _, w := range watches {
		if !slices.Contains(names, w.Resource.Plural) {
			names = append(names, w.Resource.Plural)
		}
	}
	return names
}

func leaseUsage(name string, watches []controller.Watch) string {
	usage := fmt.Sprintf("name of the lease (default %q", name)
	if len(watches) > 1 {
		usage += ", and with --resources these behind it"
	}
	return usage + ")"
}

// choose returns the watches of --resources and names the lease: processes that serve different resources do not wait for each other.
func (f *flags) choose(name string, all []controller.Watch) ([]controller.Watch, error) {
	known := plurals(all)
	for _, r := range f.resources {
		if !slices.Contains(known, r) {
			return nil, usage(fmt.Errorf("--resources: found %q, must be one or more of %s", r, strings.Join(known, ", ")))
		}
	}
	if len(f.resources) == 0 {
		f.leaseName = cmp.Or(f.leaseName, name)
		return all, nil
	}
	var chosen []controller.Watch
	for _, w := range all {
		if slices.Contains(f.resources, w.Resource.Plural) {
			chosen = append(chosen, w)
		}
	}
	f.leaseName = cmp.Or(f.leaseName, name+"-"+strings.Join(plurals(chosen), "-"))
	return chosen, nil
}
