// The database of known vulnerabilities, as a module. It has no package to import: `go mod tidy` would drop it from go.mod.
// Update: go get -modfile=vulndb.mod golang.org/x/vulndb@latest
module stoic/tools/vulndb

go 1.26.0

require golang.org/x/vulndb v0.0.0-20261105234957-e22db6528018
