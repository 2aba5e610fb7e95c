package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"

	"github.com/libp2p/go-libp2p/core/peer"
)

// verdict answers each line {"topic":…,"from":…,"data":base64} with what a server in the field makes of the message:
// {"verdict":"accept","message":{…}} or {"verdict":"reject","reason":…,"detail":…}.
func verdict(_ []string, in io.Reader, out *lines) error {
	type question struct {
		Topic string `json:"topic"`
		From  string `json:"from"`
		Data  []byte `json:"data"`
	}
	type answer struct {
		Verdict string `json:"verdict"`
		Reason  string `json:"reason,omitempty"`
		Detail  string `json:"detail,omitempty"`
		// What was read; absent where it was accepted and JSON cannot write it, as a time in a zone of 24 hours.
		Message json.RawMessage `json:"message,omitempty"`
	}
	input := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := input.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			return err
		}
		from, err := peer.Decode(asked.From)
		if err != nil {
			return err
		}
		message, err := decode(asked.Topic, from, asked.Data)
		switch {
		case errors.Is(err, errForged):
			out.print(answer{Verdict: "reject", Reason: errForged.Error(), Detail: err.Error()})
		case err != nil:
			out.print(answer{Verdict: "reject", Reason: errMalformed.Error(), Detail: err.Error()})
		default:
			said, err := json.Marshal(message)
			if err != nil {
				out.print(answer{Verdict: "accept", Detail: err.Error()})
				continue
			}
			out.print(answer{Verdict: "accept", Message: said})
		}
	}
}
