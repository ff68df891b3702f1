// The operator that docs/performance.md compares with, in a module of its own: nothing else of this project needs it.
module beside

go 1.26.0

toolchain go1.26.10

require github.com/kubeflow/training-operator v1.9.4
