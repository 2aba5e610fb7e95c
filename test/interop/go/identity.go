package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
)

// protobufPrefix opens libp2p's own encoding of an Ed25519 private key: its type, then 64 bytes.
var protobufPrefix = []byte{0x08, 0x01, 0x12, 0x40}

var errKeyForm = errors.New("not an Ed25519 key in any form in the field")

// parseKey reads a key file in any of the forms in the field.
func parseKey(content []byte) (ed25519.PrivateKey, error) {
	if len(content) == len(protobufPrefix)+ed25519.PrivateKeySize && bytes.HasPrefix(content, protobufPrefix) {
		return fromPrivate(content[len(protobufPrefix):])
	}
	text := bytes.TrimSuffix(bytes.TrimSuffix(content, []byte("\n")), []byte("\r"))
	if seed, err := hex.DecodeString(string(text)); err == nil && len(seed) == ed25519.SeedSize {
		return ed25519.NewKeyFromSeed(seed), nil
	}
	if seed, err := base64.StdEncoding.DecodeString(string(text)); err == nil && len(seed) == ed25519.SeedSize {
		return ed25519.NewKeyFromSeed(seed), nil
	}
	switch len(content) {
	case ed25519.SeedSize:
		return ed25519.NewKeyFromSeed(content), nil
	case ed25519.PrivateKeySize:
		return fromPrivate(content)
	default:
		return nil, errKeyForm
	}
}

func fromPrivate(private []byte) (ed25519.PrivateKey, error) {
	key := ed25519.NewKeyFromSeed(private[:ed25519.SeedSize])
	if !bytes.Equal(key, private) {
		return nil, errors.New("damaged key: its public half is not the one of its seed")
	}
	return key, nil
}

// forms gives the key in every form in the field, by the name of the file that holds it.
func forms(key ed25519.PrivateKey) map[string][]byte {
	seed := key.Seed()
	return map[string][]byte{
		"private.key":        key,
		"seed.key":           seed,
		"hex.key":            []byte(hex.EncodeToString(seed)),
		"hex-newline.key":    []byte(hex.EncodeToString(seed) + "\n"),
		"base64.key":         []byte(base64.StdEncoding.EncodeToString(seed)),
		"base64-newline.key": []byte(base64.StdEncoding.EncodeToString(seed) + "\n"),
		"protobuf.key":       append(bytes.Clone(protobufPrefix), key...),
	}
}

// loadKey takes the seed, else the file, else makes a key.
func loadKey(seedHex, path string) (ed25519.PrivateKey, error) {
	switch {
	case seedHex != "":
		return parseKey([]byte(seedHex))
	case path != "":
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return parseKey(content)
	default:
		_, key, err := ed25519.GenerateKey(nil)
		return key, err
	}
}

func identity(arguments []string, _ io.Reader, out *lines) error {
	flags := flag.NewFlagSet("identity", flag.ContinueOnError)
	seedHex := flags.String("seed", "", "the seed, 64 hex digits")
	keyFile := flags.String("key-file", "", "a key file, in any form in the field")
	directory := flags.String("write", "", "directory to write the key to, in every form")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	key, err := loadKey(*seedHex, *keyFile)
	if err != nil {
		return err
	}
	written := []string{}
	if *directory != "" {
		for name, content := range forms(key) {
			path := filepath.Join(*directory, name)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				return err
			}
			written = append(written, path)
		}
	}
	private, err := crypto.UnmarshalEd25519PrivateKey(key)
	if err != nil {
		return err
	}
	id, err := peer.IDFromPrivateKey(private)
	if err != nil {
		return err
	}
	out.print(map[string]any{"peer_id": id.String(), "written": written})
	return nil
}
