// Command image answers the question: how is the image of the operator BUILT
// WITHOUT A CONTAINER ENGINE, so that two builds of one commit are one digest?
//
//	go -C tools/image run . -out ../../bin/image [-version V] [-platforms linux/amd64,linux/arm64] [-sbom] [-push REF]
//
// It compiles the operator for each platform, puts the program into a layer of its own, and writes an index of the images: as an OCI
// layout, and as one archive that "ctr images import" and "docker load" read. The output depends on the sources, the release of Go, and
// the flags, but not on the folder, the user or the clock: its timestamps are the time of the commit.
//
// The Dockerfile makes the same content. The tests read the Dockerfile and compare.
package main
