// Package migration answers one question: ARE ALL OBJECTS OF A KIND STORED IN THE VERSION THAT ITS CRD NAMES NOW?
//
// An API server stores an object in the version that is the stored one when it is written. After that has changed, the old ones stay as
// they are, status.storedVersions of the CRD lists both versions, and the old one cannot be removed from the CRD. A Migration writes
// each object again, with the rights of the user who runs it, and then takes the old versions off that list.
//
//	Migration  what is migrated, and how
//	rewrite    one object: what is tried again, and what is not
//	CRD        what is checked before, and what is written at the end
//
// What is promised: an object is never created, and none is changed but for the version in which it is stored. The list is written only
// if every object was, a further LIST has shown no others, and the CRD has not been changed meanwhile. A run that ended early can
// be begun again: what is stored in the right version is not written a second time, as API servers leave out writes that change nothing.
package migration
