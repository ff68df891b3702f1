package schedule

import "testing"

// TestZone: what a name means must not depend on the machine: neither on its own zone nor on files that some systems have beside the
// zones.
func TestZone(t *testing.T) {
	for name, is := range map[string]bool{
		"": true, "UTC": true, "Europe/Berlin": true, "Etc/GMT+3": true,
		"Local": false, "local": false, "localtime": false, "LOCALTIME": false, "posixrules": false, "posix/Europe/Berlin": false,
		"right/Europe/Berlin": false, "Right/UTC": false, "Mars/Olympus": false, "../../etc/localtime": false, "/usr/share/zoneinfo/UTC": false,
	} {
		zone, problems := Zone("spec.timeZone", name)
		if (zone != nil) != is || (len(problems) == 0) != is {
			t.Errorf("%q: %v, %v, want a zone: %v", name, zone, problems, is)
		}
	}
}
