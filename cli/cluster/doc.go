// Package cluster answers one question: WHERE CAN I TRY IT? It builds and runs
// the local control plane (the module in the folder localcluster) as a child
// process.
//
// The first Build takes some minutes, because it compiles Kubernetes; its result is kept in the user's cache directory until the
// sources change. A cluster then starts in a few seconds. It ends with the process that started it, however that process ends. Any
// number of clusters may run side by side.
package cluster
