// Bun's own server of WebSockets, as its documentation has it: every message is sent back.

const port = Number(process.argv.find((argument) => argument.startsWith("--port="))?.slice(7));
if (!port) {
  console.error("usage: main.js --port=N");
  process.exit(2);
}
Bun.serve({
  hostname: "127.0.0.1",
  port,
  fetch(request, server) {
    if (!server.upgrade(request)) return new Response("a WebSocket is needed", {status: 426});
  },
  websocket: {
    perMessageDeflate: false,
    message(socket, message) {
      socket.send(message);
    },
  },
});
