<text>
// written by tapui <version>, sha256 <sha256>
