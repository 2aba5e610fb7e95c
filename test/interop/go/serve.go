package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p"
	dht "github.com/libp2p/go-libp2p-kad-dht"
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	ma "github.com/multiformats/go-multiaddr"
)

const patience = 10 * time.Second

// options are the flags of serve.
type options struct {
	port      int
	bootstrap []string
	external  string
	seedHex   string
	keyFile   string
	noMesh    bool
}

func parseOptions(arguments []string) (options, error) {
	var parsed options
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.IntVar(&parsed.port, "port", 0, "TCP port on 127.0.0.1; 0 takes a free one")
	flags.Func("bootstrap", "multiaddr of a peer to connect to (repeatable)", func(address string) error {
		parsed.bootstrap = append(parsed.bootstrap, address)
		return nil
	})
	flags.StringVar(&parsed.external, "external", "", "multiaddr to give to others instead of the one listened on")
	flags.StringVar(&parsed.seedHex, "seed", "", "the identity's seed, 64 hex digits")
	flags.StringVar(&parsed.keyFile, "key-file", "", "the identity's key file")
	flags.BoolVar(&parsed.noMesh, "no-mesh", false, "keep no mesh: neighbours are offered the IDs of messages")
	return parsed, flags.Parse(arguments)
}

// server is the peer at work.
type server struct {
	host     host.Host
	dht      *dht.IpfsDHT
	topics   map[string]*pubsub.Topic
	registry *registry
	out      *lines
	port     int
	counts   counts
}

// counts are of the message IDs that this peer offered to neighbours that it had not sent the messages to itself, and
// of those that they asked for. Neighbours that make other IDs of the same messages ask for all of them.
type counts struct {
	offered, wanted atomic.Int64
}

// Trace is called by GossipSub at every event.
func (c *counts) Trace(event *pb.TraceEvent) {
	for _, offer := range event.GetSendRPC().GetMeta().GetControl().GetIhave() {
		c.offered.Add(int64(len(offer.GetMessageIDs())))
	}
	for _, want := range event.GetRecvRPC().GetMeta().GetControl().GetIwant() {
		c.wanted.Add(int64(len(want.GetMessageIDs())))
	}
}

func serve(arguments []string, in io.Reader, out *lines) error {
	settings, err := parseOptions(arguments)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := start(ctx, settings, out)
	if err != nil {
		return err
	}
	defer s.host.Close()
	addresses, err := s.addresses()
	if err != nil {
		return err
	}
	out.print(map[string]any{"event": "listening", "peer_id": s.host.ID().String(), "addresses": addresses})
	for _, address := range settings.bootstrap {
		if err := s.connect(ctx, address); err != nil {
			return err
		}
	}
	return s.obey(ctx, in)
}

func start(ctx context.Context, settings options, out *lines) (*server, error) {
	key, err := loadKey(settings.seedHex, settings.keyFile)
	if err != nil {
		return nil, err
	}
	private, err := crypto.UnmarshalEd25519PrivateKey(key)
	if err != nil {
		return nil, err
	}
	hostOptions := []libp2p.Option{
		libp2p.Identity(private),
		libp2p.ListenAddrStrings(fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", settings.port)),
		libp2p.NoTransports,
		libp2p.Transport(tcp.NewTCPTransport),
		libp2p.Security(noise.ID, noise.New),
		libp2p.Muxer(yamux.ID, yamux.DefaultTransport),
		libp2p.ResourceManager(&network.NullResourceManager{}),
		libp2p.DisableRelay(),
		libp2p.DisableMetrics(),
	}
	if settings.external != "" {
		external, err := ma.NewMultiaddr(settings.external)
		if err != nil {
			return nil, err
		}
		hostOptions = append(hostOptions, libp2p.AddrsFactory(func([]ma.Multiaddr) []ma.Multiaddr {
			return []ma.Multiaddr{external}
		}))
	}
	node, err := libp2p.New(hostOptions...)
	if err != nil {
		return nil, err
	}
	kad, err := dht.New(node, dht.Mode(dht.ModeServer))
	if err != nil {
		return nil, err
	}
	s := &server{host: node, dht: kad, topics: map[string]*pubsub.Topic{}, registry: newRegistry(), out: out}
	return s, s.join(ctx, settings)
}

// join enters both topics with strict signing and a validator on each.
func (s *server) join(ctx context.Context, settings options) error {
	gossipOptions := []pubsub.Option{
		pubsub.WithMessageSignaturePolicy(pubsub.StrictSign),
		pubsub.WithEventTracer(&s.counts),
	}
	if settings.noMesh {
		params := pubsub.DefaultGossipSubParams()
		params.D, params.Dlo, params.Dhi, params.Dscore, params.Dout = 0, 0, 0, 0, 0
		gossipOptions = append(gossipOptions, pubsub.WithGossipSubParams(params))
	}
	gossip, err := pubsub.NewGossipSub(ctx, s.host, gossipOptions...)
	if err != nil {
		return err
	}
	for _, name := range []string{announceTopic, heartbeatTopic} {
		if err := gossip.RegisterTopicValidator(name, s.judge, pubsub.WithValidatorInline(true)); err != nil {
			return err
		}
		topic, err := gossip.Join(name)
		if err != nil {
			return err
		}
		s.topics[name] = topic
		if err := s.follow(ctx, topic); err != nil {
			return err
		}
	}
	return nil
}

// follow subscribes to a topic and tells who enters and leaves it.
func (s *server) follow(ctx context.Context, topic *pubsub.Topic) error {
	subscription, err := topic.Subscribe()
	if err != nil {
		return err
	}
	members, err := topic.EventHandler()
	if err != nil {
		return err
	}
	go func() { // What arrives was taken in by the validator; reading on keeps the subscription from filling up.
		for {
			if _, err := subscription.Next(ctx); err != nil {
				return
			}
		}
	}()
	go func() {
		for {
			change, err := members.NextPeerEvent(ctx)
			if err != nil {
				return
			}
			name := map[pubsub.EventType]string{pubsub.PeerJoin: "joined", pubsub.PeerLeave: "left"}[change.Type]
			s.out.print(map[string]any{"event": name, "topic": topic.String(), "peer": change.Peer.String()})
		}
	}()
	return nil
}

// judge is the topic validator: it refuses what a server in the field refuses, and takes the rest in.
func (s *server) judge(_ context.Context, relay peer.ID, message *pubsub.Message) pubsub.ValidationResult {
	from := message.GetFrom()
	if from == s.host.ID() {
		return pubsub.ValidationAccept
	}
	event := map[string]any{
		"topic": message.GetTopic(), "from": from.String(), "relay": relay.String(), "data": string(message.GetData()),
	}
	said, err := decode(message.GetTopic(), from, message.GetData())
	if err != nil {
		event["event"], event["reason"] = "refused", err.Error()
		s.out.print(event)
		return pubsub.ValidationReject
	}
	s.registry.note(from, said)
	event["event"] = "accepted"
	s.out.print(event)
	return pubsub.ValidationAccept
}

func (s *server) addresses() ([]string, error) {
	listening, err := s.host.Network().InterfaceListenAddresses()
	if err != nil {
		return nil, err
	}
	printed := []string{}
	for _, address := range listening {
		printed = append(printed, fmt.Sprintf("%s/p2p/%s", address, s.host.ID()))
		if port, err := address.ValueForProtocol(ma.P_TCP); err == nil {
			_, _ = fmt.Sscan(port, &s.port)
		}
	}
	return printed, nil
}

func (s *server) connect(ctx context.Context, address string) error {
	info, err := peer.AddrInfoFromString(address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.host.Connect(ctx, *info)
}

// command is one line of input. What is absent is as a server in good health would say it.
type command struct {
	ID      int    `json:"id"`
	Command string `json:"command"`
	// Of announce and heartbeat. Another ServerID than one's own makes a forged message.
	ServerID    *string  `json:"server_id"`
	Healthy     *bool    `json:"healthy"`
	UptimeScore *float64 `json:"uptime_score"`
	Region      string   `json:"region"`
	// Of publish: a payload as it is.
	Topic string `json:"topic"`
	Data  []byte `json:"data"`
	// Of connect and findpeer.
	Address string `json:"address"`
	Peer    string `json:"peer"`
}

// obey carries out one command a line and answers each with its id, until quit or the end of input.
func (s *server) obey(ctx context.Context, in io.Reader) error {
	input := bufio.NewScanner(in)
	input.Buffer(nil, 1<<24)
	for input.Scan() {
		var asked command
		if err := json.Unmarshal(input.Bytes(), &asked); err != nil {
			return err
		}
		if asked.Command == "quit" {
			return nil
		}
		reply := map[string]any{"event": "reply", "id": asked.ID}
		if err := s.carryOut(ctx, asked, reply); err != nil {
			reply["error"] = err.Error()
		}
		s.out.print(reply)
	}
	return input.Err()
}

func (s *server) carryOut(ctx context.Context, asked command, reply map[string]any) error {
	switch asked.Command {
	case "announce":
		return s.publish(ctx, announceTopic, s.announcement(asked))
	case "heartbeat":
		said := s.announcement(asked)
		return s.publish(ctx, heartbeatTopic, heartbeat{said.ServerID, said.Healthy, said.UptimeScore, said.Timestamp})
	case "publish":
		topic := s.topics[asked.Topic]
		if topic == nil {
			return errors.New("no such topic")
		}
		return topic.Publish(ctx, asked.Data)
	case "list":
		reply["services"] = s.registry.available()
	case "connect":
		return s.connect(ctx, asked.Address)
	case "findpeer":
		return s.findPeer(ctx, asked.Peer, reply)
	case "peers":
		connected := []string{}
		for _, id := range s.host.Network().Peers() {
			connected = append(connected, id.String())
		}
		table := []string{}
		for _, id := range s.dht.RoutingTable().ListPeers() {
			table = append(table, id.String())
		}
		reply["connected"], reply["routing_table"] = connected, table
	case "counts":
		reply["offered"], reply["wanted"] = s.counts.offered.Load(), s.counts.wanted.Load()
	default:
		return fmt.Errorf("no such command: %s", asked.Command)
	}
	return nil
}

func (s *server) announcement(asked command) announcement {
	said := announcement{
		ServerID:        s.host.ID().String(),
		Capabilities:    []string{"store-and-forward", "mailbox", "document-sync"},
		MaxStorage:      "10GB",
		RetentionPolicy: (30 * 24 * time.Hour).String(),
		Region:          asked.Region,
		Regions:         []string{asked.Region},
		UptimeScore:     1,
		Healthy:         true,
		Timestamp:       time.Now(),
		Port:            s.port,
	}
	if asked.Region == "" {
		said.Region, said.Regions = "default", []string{"default"}
	}
	if asked.ServerID != nil {
		said.ServerID = *asked.ServerID
	}
	if asked.Healthy != nil {
		said.Healthy = *asked.Healthy
	}
	if asked.UptimeScore != nil {
		said.UptimeScore = *asked.UptimeScore
	}
	return said
}

func (s *server) publish(ctx context.Context, topic string, message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return s.topics[topic].Publish(ctx, data)
}

// findPeer asks the network's Kademlia for a peer that this one is not connected to.
func (s *server) findPeer(ctx context.Context, text string, reply map[string]any) error {
	id, err := peer.Decode(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := s.dht.FindPeer(ctx, id)
	if err != nil {
		return err
	}
	addresses := []string{}
	for _, address := range found.Addrs {
		addresses = append(addresses, address.String())
	}
	reply["addresses"] = addresses
	return nil
}
