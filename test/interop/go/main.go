// Command interop-peer is a Ricochet server written in Go, as far as service discovery goes: what a server in the
// field does, made from the facts of the wire format alone. The interop tests drive it with JSON lines.
//
//	interop-peer serve [flags]     joins the network; commands on stdin, events on stdout
//	interop-peer verdict           reads messages on stdin, says what a server in the field makes of each
//	interop-peer identity [flags]  reads a key, writes it in every form in the field, prints its peer ID
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
)

// lines prints one JSON object a line, whoever speaks.
type lines struct {
	mutex   sync.Mutex
	encoder *json.Encoder
}

func newLines(out io.Writer) *lines {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return &lines{encoder: encoder}
}

func (l *lines) print(line any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err := l.encoder.Encode(line); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func main() {
	modes := map[string]func(arguments []string, in io.Reader, out *lines) error{
		"serve":    serve,
		"verdict":  verdict,
		"identity": identity,
	}
	if len(os.Args) < 2 || modes[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: interop-peer serve|verdict|identity [flags]")
		os.Exit(2)
	}
	if err := modes[os.Args[1]](os.Args[2:], os.Stdin, newLines(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
