"""Clients of other languages ask the service over TLS, and none believes it without its root."""

import shutil
import sys

from service import VENV, run


def python_asks(module):
    return f"""
import json, sys
import {module} as client
url, root = sys.argv[1:]
get = client.get(url + "/health", verify=root)
post = client.post(url + "/api/users", json={{"name": "Ada", "email": "{module}@example.com"}}, verify=root)
print(get.status_code, post.status_code)
"""


NODE_ASKS = """
const https = require('https'), fs = require('fs');
const [url, root] = process.argv.slice(1);
const ask = (path, method, body) => new Promise((resolve, reject) => {
  const request = https.request(url + path, {method, ca: fs.readFileSync(root), headers: {'content-type': 'application/json'}},
    (response) => { response.resume(); response.on('end', () => resolve(response.statusCode)); });
  request.on('error', reject);
  request.end(body);
});
(async () => console.log(await ask('/health', 'GET'),
  await ask('/api/users', 'POST', '{"name": "Ada", "email": "node@example.com"}')))();
"""

GO_ASKS = """
package main
import ("crypto/tls"; "crypto/x509"; "fmt"; "net/http"; "os"; "strings")
func main() {
  pem, _ := os.ReadFile(os.Args[2])
  roots := x509.NewCertPool()
  roots.AppendCertsFromPEM(pem)
  client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
  get, err := client.Get(os.Args[1] + "/health")
  if err != nil { panic(err) }
  post, err := client.Post(os.Args[1] + "/api/users", "application/json",
    strings.NewReader(`{"name": "Ada", "email": "go@example.com"}`))
  if err != nil { panic(err) }
  fmt.Println(get.StatusCode, post.StatusCode)
}
"""

JAVA_ASKS = """
import java.net.URI;
import java.net.http.*;
import java.nio.file.*;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.*;
public class Asks {
  public static void main(String[] arguments) throws Exception {
    KeyStore roots = KeyStore.getInstance(KeyStore.getDefaultType());
    roots.load(null, null);
    roots.setCertificateEntry("root",
        CertificateFactory.getInstance("X.509").generateCertificate(Files.newInputStream(Path.of(arguments[1]))));
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(roots);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    HttpClient client = HttpClient.newBuilder().sslContext(context).build();
    HttpResponse.BodyHandler<Void> nothing = HttpResponse.BodyHandlers.discarding();
    int get = client.send(HttpRequest.newBuilder(URI.create(arguments[0] + "/health")).build(), nothing).statusCode();
    String user = "{\\"name\\": \\"Ada\\", \\"email\\": \\"java@example.com\\"}";
    int post = client.send(HttpRequest.newBuilder(URI.create(arguments[0] + "/api/users"))
        .header("content-type", "application/json").POST(HttpRequest.BodyPublishers.ofString(user)).build(),
        nothing).statusCode();
    System.out.println(get + " " + post);
  }
}
"""

# It believes what is in the database of its user.
CHROMIUM_ASKS = """
export HOME=$2
mkdir -p "$HOME/.pki/nssdb"
certutil -d "sql:$HOME/.pki/nssdb" -N --empty-password
certutil -d "sql:$HOME/.pki/nssdb" -A -t C,, -n root -i "$1"
chromium --headless --no-sandbox --disable-gpu --dump-dom "$3/health" 2>/dev/null | grep -q '"status":"ok"' && echo 200 201
"""

GNUTLS_ASKS = r"""
user='{"name": "Ada", "email": "gnutls@example.com"}'
(printf 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nPOST /api/users HTTP/1.1\r\nHost: localhost\r\n'
 printf 'Content-Type: application/json\r\nContent-Length: %s\r\nConnection: close\r\n\r\n%s' "${#user}" "$user"
 sleep 1) | gnutls-cli --x509cafile "$1" --logfile /dev/null -p "$2" localhost | grep -o 'HTTP/1.1 [0-9]*' | cut -c 10-
"""


NEEDS = {"chromium": ["chromium", "certutil"], "gnutls-cli": ["gnutls-cli"]}


def score(_build, service):
    """(score, whether it is enough, what is demanded)"""
    root, url, python = str(service.authority.root), service.url, str(VENV / "bin/python")
    curl = ["curl", "-sS", "--max-time", "20", "-o", "/dev/null", "-w", "%{http_code} "]
    post = ["-H", "content-type: application/json", "-d", '{"name": "Ada", "email": "curl@example.com"}']
    go, java = service.folder / "asks.go", service.folder / "Asks.java"
    go.write_text(GO_ASKS)
    java.write_text(JAVA_ASKS)
    asking = {
        "curl": [*curl, "--cacert", root, f"{url}/health", "--next", *curl[1:], "--cacert", root, *post, f"{url}/api/users"],
        "requests": [python, "-c", python_asks("requests"), url, root],
        "httpx": [python, "-c", python_asks("httpx"), url, root],
        "node": ["node", "-e", NODE_ASKS, url, root],
        "go": ["go", "run", str(go), url, root],
        "java": ["java", str(java), url, root],
        "gnutls-cli": ["bash", "-c", GNUTLS_ASKS, "bash", root, str(service.port)],
        "chromium": ["bash", "-c", CHROMIUM_ASKS, "bash", root, str(service.folder), url],
    }
    good, bad, missing = [], [], []
    for name, command in asking.items():
        if any(shutil.which(needed) is None for needed in NEEDS.get(name, [command[0]])):
            missing.append(name)
            continue
        done = run(command, 120)
        (good if done.stdout.split() == ["200", "201"] else bad).append(name)
        if name in bad:
            print(f"    {name}: {done.stdout} {done.stderr[-300:]}", file=sys.stderr)
    refused = run([*curl, f"{url}/health"], 30)
    if refused.returncode not in (60, 77):  # 77: the system has no roots at all.
        bad.append(f"curl without the root: {refused.returncode}")
    result = f"{len(good)} of {len(good) + len(bad)}" + (f", not here: {', '.join(missing)}" if missing else "")
    return result + (f", failed: {', '.join(bad)}" if bad else ""), not bad and len(good) >= 3, "all that are here"
