// Browsers start no worker for a page that is a file. There, the worker of the search runs in a frame that is not shown.
// The generator takes this in the place of a script of another host: the name says to it what it is.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
      this.inside.importScripts = () => {}; // Only languages other than English have more scripts.
      this.has_started = new Promise((start) => {
        const script = this.inside.document.createElement("script");
        script.src = url;
        script.onload = start;
        this.inside.document.body.append(script);
      });
    }
    postMessage(data) {
      this.has_started.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  };
}
