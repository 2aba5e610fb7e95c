# Stands in for systemd: prints what is told over the socket whose path is given, a line each message.
import socket
import sys

receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print("listening", flush=True)
while True:
    # The file descriptor that comes with a barrier is dropped unread, which lifts the barrier.
    print("told " + receiver.recv(4096).decode().replace("\n", " | "), flush=True)
