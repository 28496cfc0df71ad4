// Verifies an archive of an audit log with golang.org/x/mod/sumdb, the library of Go's checksum
// database: the signature of each checkpoint, and the root of the tree of all entries before it.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type archive struct {
	verifier    note.Verifier
	size        int64
	checkpoints int
	// Whether the last line was a checkpoint.
	isCovered bool
	stored    []tlog.Hash
}

// run reads the public key and the files, which start with the first entry of the log.
func run(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: transparency KEY_FILE ARCHIVE_FILE...")
	}
	key, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	verifier, err := note.NewVerifier(strings.TrimSpace(string(key)))
	if err != nil {
		return err
	}
	log := &archive{verifier: verifier}
	for _, path := range args[1:] {
		if err := log.addFile(path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if !log.isCovered {
		return errors.New("no checkpoint covers the last entry")
	}
	fmt.Printf("%d entries, %d checkpoints\n", log.size, log.checkpoints)
	return nil
}

func (log *archive) addFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	lines := bufio.NewReader(text)
	for isFirst := true; ; isFirst = false {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if err := log.addLine(bytes.TrimSuffix(line, []byte("\n")), isFirst); err != nil {
			return err
		}
	}
}

func (log *archive) addLine(line []byte, isFirst bool) error {
	var content struct {
		Log        string
		From       int64
		Position   int64
		Checkpoint string
	}
	if err := json.Unmarshal(line, &content); err != nil {
		return err
	}
	if isFirst {
		if content.Log != log.verifier.Name() || content.From != log.size {
			return fmt.Errorf("it starts with entry %d of %s", content.From, content.Log)
		}
		return nil
	}
	if content.Checkpoint != "" {
		return log.addCheckpoint(content.Checkpoint)
	}
	_, entry, isEntry := bytes.Cut(bytes.TrimSuffix(line, []byte("}")), []byte(`"entry":`))
	if !isEntry || content.Position != log.size {
		return fmt.Errorf("there is no entry %d", log.size)
	}
	return log.addEntry(entry)
}

func (log *archive) addEntry(entry []byte) error {
	hashes, err := tlog.StoredHashes(log.size, entry, log.reader())
	if err != nil {
		return err
	}
	log.stored = append(log.stored, hashes...)
	log.size++
	log.isCovered = false
	return nil
}

func (log *archive) addCheckpoint(text string) error {
	signed, err := note.Open([]byte(text), note.VerifierList(log.verifier))
	if err != nil {
		return err
	}
	root, err := tlog.TreeHash(log.size, log.reader())
	if err != nil {
		return err
	}
	lines := []string{
		log.verifier.Name(),
		strconv.FormatInt(log.size, 10),
		base64.StdEncoding.EncodeToString(root[:]),
	}
	if !strings.HasPrefix(signed.Text, strings.Join(lines, "\n")+"\n") {
		return fmt.Errorf("the checkpoint of %d entries differs", log.size)
	}
	log.checkpoints++
	log.isCovered = true
	return nil
}

func (log *archive) reader() tlog.HashReaderFunc {
	return func(indexes []int64) ([]tlog.Hash, error) {
		found := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			found[i] = log.stored[index]
		}
		return found, nil
	}
}
