// Package migration answers one question: ARE ALL OBJECTS OF A KIND STORED IN THE VERSION THAT ITS CRD NAMES NOW?
//
// An API server stores an object in the storage version at the time of the write. After the storage version has changed, old objects stay
// as they are, status.storedVersions of the CRD lists both versions, and the old one cannot be removed from the CRD. A Migration writes
// each object again, with the rights of the user who runs it, and then removes the old versions from that list.
//
//	Migration  what is migrated, and how
//	rewrite    one object: what is retried, and what is not
//	CRD        what is checked before, and what is written at the end
//
// It promises that no object is created, and that nothing of an object changes except the version in which it is stored. The list is
// written only if every object was, a further LIST has shown no others, and the CRD has not been changed meanwhile. A run that ended
// early can be repeated: what is stored in the right version is not written a second time, as API servers skip writes that change
// nothing.
package migration
