// Package comparison answers one question: WHAT DOES ONE MALFORMED OBJECT DO TO AN OPERATOR?
//
// Three programs keep a Deployment for each Foo: clientgo in the pattern of the sample-controller, runtime with controller-runtime,
// engine with ours. They share the types in api. The test stores a Foo whose replicas is a string, and checks what happens to other Foos
// under each program:
//
//	cd tools/comparison && go generate ./... && go test -count=1 -v .
//
// go generate writes code for clientgo to generated and to zz_generated files, which are not committed. This is a separate module that
// nothing imports: the operator's module must depend neither on controller-runtime nor on code generators.
package comparison

//go:generate go tool deepcopy-gen --go-header-file header.txt --output-file zz_generated.deepcopy.go ./api/comparison/v1
//go:generate go tool register-gen --go-header-file header.txt --output-file zz_generated.register.go ./api/comparison/v1
//go:generate go tool client-gen --go-header-file header.txt --clientset-name clientset --input-base stoic/tools/comparison/api --input comparison/v1 --output-dir generated --output-pkg stoic/tools/comparison/generated
//go:generate go tool lister-gen --go-header-file header.txt --output-dir generated/listers --output-pkg stoic/tools/comparison/generated/listers ./api/comparison/v1
//go:generate go tool informer-gen --go-header-file header.txt --output-dir generated/informers --output-pkg stoic/tools/comparison/generated/informers --versioned-clientset-package stoic/tools/comparison/generated/clientset --listers-package stoic/tools/comparison/generated/listers ./api/comparison/v1
