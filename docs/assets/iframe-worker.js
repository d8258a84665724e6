// The site's search runs in a worker, which browsers refuse to pages that are opened from the disk. There, a hidden frame
// replaces the worker: it loads the same script and passes the same messages.
class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    this.frame.srcdoc = "<!doctype html>";
    this.loaded = new Promise((resolve) => this.frame.addEventListener("load", resolve, { once: true })).then(() => {
      const scope = this.frame.contentWindow;
      scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) }));
      scope.importScripts = async (...urls) => {
        for (const each of urls) await this.loadScript(each);
      };
      return this.loadScript(url);
    });
    document.body.append(this.frame);
  }

  loadScript(url) {
    const page = this.frame.contentDocument;
    return new Promise((resolve, reject) => {
      const script = page.createElement("script");
      script.src = url;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${url}: cannot be loaded`));
      page.head.append(script);
    });
  }

  async postMessage(data) {
    await this.loaded;
    this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) }));
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker;
