"""One recording for each family of hypotheses that the sixth set led to. Every run computes its output in float32 as a kernel would."""
import json, os, sys
import numpy as np
import ml_dtypes
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
f4, c8 = np.float32, np.complex64
bf16, f16 = ml_dtypes.bfloat16, np.float16
rng = np.random.default_rng(4711)
cases, check = [], []


class Run:
    """Inputs as a trained layer has them."""

    def __init__(s, b=1, d=4, n=4, L=96, cplx=False, Bv=True, Cv=True, groups=1, gate=False, softplus=False, bias=False,
                 skip=False, dtype=f4, init=False, last=False, scale=1.0):
        s.b, s.d, s.n, s.L, s.cplx, s.groups, s.dtype, s.softplus, s.last = b, d, n, L, cplx, groups, dtype, softplus, last
        cast = lambda v: v.astype(f4).astype(dtype)
        s.u = cast(rng.normal(size=(b, d, L)))
        dt = np.exp(rng.uniform(np.log(2e-3), np.log(0.15), size=(1, d, 1)) + 0.6 * rng.normal(size=(b, d, L))) * scale
        s.bias = None
        if softplus:
            raw = np.log(np.expm1(dt))
            if bias:
                s.bias = (np.log(np.expm1(0.02)) + 0.5 * rng.normal(size=d)).astype(f4)
                raw = raw - s.bias[:, None]
            s.delta = cast(raw)
        else:
            if bias:
                s.bias = rng.uniform(0.01, 0.05, size=d).astype(f4)
            s.delta = cast(dt)
        if cplx:
            k = np.arange(n)
            s.A = ((-0.5 - 0.2 * rng.uniform(size=(d, n))) + 1j * np.pi * (k + 0.3 * rng.uniform(size=(d, n)))).astype(c8)
        else:
            s.A = (-(1 + np.arange(n)) * np.exp(0.25 * rng.normal(size=(d, n)))).astype(f4)

        def weight(variable):
            shape = (b, groups, n, L) if variable else (d, n)
            w = rng.normal(size=shape)
            if cplx:
                w = w + 1j * rng.normal(size=shape)
                if variable:
                    return cast(np.stack([w.real, w.imag], -1).reshape(b, groups, n, 2 * L))
                return w.astype(c8)
            return cast(w) if variable else w.astype(f4)

        s.B, s.C = weight(Bv), weight(Cv)
        s.z = cast(1.2 * rng.normal(size=(b, d, L))) if gate else None
        s.D = (1 + 0.4 * rng.normal(size=d)).astype(f4) if skip else None
        s.x0 = None
        if init:
            s.x0 = 0.4 * rng.normal(size=(b, d, n))
            s.x0 = (s.x0 + 0.4j * rng.normal(size=(b, d, n))).astype(c8) if cplx else s.x0.astype(f4)

    # --- pieces
    def dt(s):
        v = s.delta.astype(f4)
        if s.bias is not None:
            v = v + s.bias[:, None]
        return softplus(v) if s.softplus else v

    def full(s, W, group=None):
        """(b, d, n, L) or (1, d, n, 1)."""
        if W.ndim == 2:
            return W[None, :, :, None]
        W = W.astype(f4)
        if s.cplx:
            W = W[..., 0::2] + 1j * W[..., 1::2]
        group = np.arange(s.d) // (s.d // s.groups) if group is None else group
        return W[:, group]

    def finish(s, y):
        if s.D is not None:
            y = y + s.D[:, None] * s.u.astype(f4)
        if s.z is not None:
            y = y * silu(s.z.astype(f4))
        return y.astype(f4).astype(s.dtype)


def softplus(v):
    return np.where(v > 20, v, np.log1p(np.exp(np.minimum(v, f4(20)))))


def sigmoid(v):
    return f4(1) / (f4(1) + np.exp(-v))


def silu(v):
    return v * sigmoid(v)


def phi(k, z):
    """Evaluated carefully, rounded once."""
    w = z.astype(np.complex128)
    small = np.abs(w) < 1
    t, s = np.ones_like(w) / [1, 1, 2, 6][k], 0
    for j in range(24):
        s = s + t
        t = t * np.where(small, w, 0) / (j + k + 1)
    g, v = np.exp(w), np.where(small, 1, w)
    for j in range(k):
        g = (g - [1, 1, 0.5][j]) / v
    r = np.where(small, s, g)
    return r.astype(c8) if np.iscomplexobj(z) else r.real.astype(f4)


def coeffs(method, dt, A):
    """Abar and h (Bbar for B = 1), each (b, d, n, L)."""
    t = dt[:, :, None, :]
    z = t * A[None, :, :, None]
    if method == "bilinear":
        r = f4(1) / (f4(1) - z / f4(2))
        return (f4(1) + z / f4(2)) * r, t * r
    a = np.exp(z)
    if method == "zoh":
        return a, t * np.ones_like(z)
    if method == "foh":
        return a, t * t * phi(2, z)
    if method == "poly":
        return a, t * (phi(1, z) + f4(0.5) * t * phi(2, z))
    if method == "highorder":
        return a, t * (phi(1, z) + t * (phi(2, z) + f4(0.5) * t * phi(3, z)))
    if method == "rk4":
        return a, t * (f4(1) + z * (f4(0.5) + z * (f4(1) / f4(6) + z / f4(24))))


def scan(a, b, x0=None):
    x = np.zeros(a.shape[:3], b.dtype) if x0 is None else x0
    out = np.empty(a.shape, b.dtype)
    for l in range(a.shape[3]):
        x = a[..., l] * x + b[..., l]
        out[..., l] = x
    return out


def read(r, x, C):
    return f4(2) * (C * x).sum(2).real if r.cplx else (C * x).sum(2)


def drive(r, h, B=None):
    return h * (r.full(r.B) if B is None else B) * r.u.astype(f4)[:, :, None, :]


def right(method, r):
    """The plain serial scan: (out, last_state)."""
    a, h = coeffs(method, r.dt(), r.A)
    bu = drive(r, h)
    x = scan(a, bu, r.x0)
    last = x[..., -1]
    y = read(r, x, r.full(r.C))
    if method == "poly":
        xb = scan(a[..., ::-1], bu[..., ::-1])[..., ::-1]
        y = f4(0.5) * (y + read(r, xb, r.full(r.C)))
    return r.finish(y), last


def emit(method, r, out, last=None, ok=False, cause=""):
    out, last_right = np.asarray(out), right(method, r)
    k = len(cases) + 1
    name = f"run{k:02d}.safetensors"
    t = dict(u=r.u, delta=r.delta, A=r.A, B=r.B, C=r.C, D=r.D, z=r.z, delta_bias=r.bias, initial_state=r.x0)
    t["out." + method] = out.astype(r.dtype)
    if last is not None:
        t["last_state." + method] = np.asarray(last).astype(c8 if r.cplx else f4)
    t = {k: np.ascontiguousarray(v) for k, v in t.items() if v is not None}
    save_file(t, os.path.join(HERE, name), {"delta_softplus": str(r.softplus).lower()})
    cases.append(dict(file=name, method=method, right=ok, cause=cause))
    # how far from the plain scan
    def far(g, w):
        g, w = np.asarray(g).astype(np.complex128), np.asarray(w).astype(np.complex128)
        e = np.abs(g - w) / (np.sqrt(np.mean(np.abs(w) ** 2)))
        return f"max {e.max():.1e} share>1e-3 {np.mean(e > 1e-3):.2f}"
    check.append(f"{name} {method:9s} {'ok ' if ok else 'BAD'} out {far(out, last_right[0])}" +
                 (f"  last {far(last, last_right[1])}" if last is not None else ""))


import math
def plain(method, r, a=None, h=None, Bf=None, Cf=None, u=None, dt=None):
    a0, h0 = coeffs(method, r.dt() if dt is None else dt, r.A)
    a = a0 if a is None else a; h = h0 if h is None else h
    B = r.full(r.B) if Bf is None else Bf
    U = r.u.astype(f4) if u is None else u
    x = scan(a, h*B*U[:, :, None, :], r.x0)
    return read(r, x, r.full(r.C) if Cf is None else Cf), x
def E(method, r, y, cause, last=None): emit(method, r, y, last, cause=cause)
# 1 B-bar clipped above a limit
r=Run(b=2,d=4,n=4,L=80,gate=True); a,h=coeffs("foh",r.dt(),r.A); y,x=plain("foh",r,h=np.minimum(h,f4(2e-3))); E("foh",r,r.finish(y),"Bbar clipped to at most 2e-3")
# 2 phi1 asymptote above |z|>0.5 : h=-1/A
r=Run(b=2,d=4,n=8,L=80,scale=3); t=r.dt(); a,h=coeffs("highorder",t,r.A); z=t[:,:,None,:]*r.A[None,:,:,None]; p1=np.where(np.abs(z)>f4(1.0),-1/z,phi(1,z)); tt=t[:,:,None,:]; h=tt*(p1+tt*(phi(2,z)+f4(.5)*tt*phi(3,z))); y,x=plain("highorder",r,h=h.astype(f4)); E("highorder",r,r.finish(y),"phi1=-1/z for |z|>1")
# 3 carry rounded to bf16 between chunks of 16
r=Run(b=1,d=4,n=4,L=96); a,h=coeffs("zoh",r.dt(),r.A); bu=drive(r,h); c=None; xs=[]
for i in range(0,r.L,16):
    xx=scan(a[...,i:i+16],bu[...,i:i+16],c); xs.append(xx); c=xx[...,-1].astype(bf16).astype(f4)
E("zoh",r,r.finish(read(r,np.concatenate(xs,-1),r.full(r.C))),"carry rounded to bf16 at chunks of 16")
# 4 delta averaged per chunk of 8
r=Run(b=1,d=4,n=4,L=96); dt=r.dt().reshape(1,4,12,8).mean(-1,keepdims=True).repeat(8,-1).reshape(1,4,96).astype(f4); y,x=plain("zoh",r,dt=dt); E("zoh",r,r.finish(y),"delta averaged per chunk of 8")
# 5 odd channels reversed
r=Run(b=1,d=6,n=4,L=64,Bv=False,Cv=False); a,h=coeffs("zoh",r.dt(),r.A); bu=drive(r,h); x=scan(a,bu); xb=scan(a[...,::-1],bu[...,::-1])[...,::-1]; x[:,1::2]=xb[:,1::2]; E("zoh",r,r.finish(read(r,x,r.full(r.C))),"odd channels reversed")
# 6 naive foh
r=Run(b=1,d=4,n=4,L=64,scale=0.1); t=r.dt()[:,:,None,:]; z=t*r.A[None,:,:,None]; h=((np.exp(z)-f4(1)-z)/(r.A*r.A)[None,:,:,None]).astype(f4); y,x=plain("foh",r,h=h); E("foh",r,r.finish(y),"naive foh (cancellation)")
# 7 real-part-of-A in B-bar only, complex foh
r=Run(b=1,d=3,n=4,L=64,cplx=True); a,h=coeffs("foh",r.dt(),r.A.real.astype(f4)); y,x=plain("foh",r,h=h.astype(c8)); E("foh",r,r.finish(y),"A real in Bbar only")
# 8 delta held over blocks of 4 (only first read)
r=Run(b=1,d=4,n=4,L=64); dt=r.dt()[...,::4].repeat(4,-1); y,x=plain("bilinear",r,dt=dt); E("bilinear",r,r.finish(y),"delta of first of each 4 for all 4")
# 9 u swapped in pairs
r=Run(b=1,d=4,n=4,L=64,skip=True); u=r.u.reshape(1,4,32,2)[...,::-1].reshape(1,4,64); y,x=plain("rk4",r,u=u); E("rk4",r,r.finish(y),"u pairs swapped in scan")
# 10 state clipped to +-0.05
r=Run(b=1,d=4,n=4,L=96); a,h=coeffs("zoh",r.dt(),r.A); bu=drive(r,h); x=np.zeros(a.shape[:3],f4); xs=[]
m=np.abs(scan(a,bu)).max()*0.4; m=f4(round(float(m),2))
for l in range(r.L):
    x=np.clip(a[...,l]*x+bu[...,l],-m,m); xs.append(x)
E("zoh",r,r.finish(read(r,np.stack(xs,-1),r.full(r.C))),f"state clipped to {m}")
# 11 u clipped to +-1
r=Run(b=1,d=4,n=4,L=96,skip=True); y,x=plain("poly" if 0 else "foh",r,u=np.clip(r.u,-1,1)); E("foh",r,r.finish(y),"u of scan clipped to 1")
# 12 gate z clipped at 2; 
r=Run(b=1,d=4,n=4,L=96,gate=True); y,x=plain("zoh",r); E("zoh",r,y*silu(np.minimum(r.z,f4(1.5))),"z of gate clipped at 1.5")
# 13 triple: softplus missing on B-bar? C late, skip doubled, gate quick
r=Run(b=1,d=4,n=4,L=96,gate=True,skip=True); C=r.full(r.C); C=np.concatenate([C[...,:1]*0,C[...,:-1]],-1); y,x=plain("zoh",r,Cf=C); y=(y+2*r.D[:,None]*r.u)*(r.z*sigmoid(f4(1.702)*r.z)); E("zoh",r,y,"C late, skip doubled, gate quick-gelu")
# 14 rk4 z^2 by conj slip
r=Run(b=1,d=3,n=4,L=64,cplx=True); t=r.dt()[:,:,None,:]; z=t*r.A[None,:,:,None]; z2=(z.real**2+z.imag**2)+2j*z.real*z.imag; h=t*(1+z/2+z2/6+z2*z/24); y,x=plain("rk4",r,h=h.astype(c8)); E("rk4",r,r.finish(y),"rk4 z^2 slip re2+im2")
# 15 negative delta abs / delta floor
r=Run(b=1,d=4,n=4,L=96,softplus=True); y,x=plain("zoh",r,dt=np.maximum(r.dt(),f4(0.02))); E("zoh",r,r.finish(y),"dt at least .02")
# 16 A exp clamp: z clamped at -0.5 in A-bar
r=Run(b=1,d=4,n=8,L=96,scale=2); t=r.dt()[:,:,None,:]; z=t*r.A[None,:,:,None]; y,x=plain("foh",r,a=np.exp(np.maximum(z,f4(-0.5)))); E("foh",r,r.finish(y),"exponent of Abar clamped at -0.5")
# 17 z clamped both
r=Run(b=1,d=4,n=8,L=96,scale=2); t=r.dt()[:,:,None,:]; z=np.maximum(t*r.A[None,:,:,None],f4(-0.5)); a=np.exp(z); h=t*t*phi(2,z); y,x=plain("foh",r,a=a,h=h); E("foh",r,r.finish(y),"z clamped at -0.5 in both")
# 18 skip in bf16
r=Run(b=1,d=4,n=4,L=96,skip=True,gate=True); y,x=plain("zoh",r); y=(y.astype(bf16).astype(f4)+r.D[:,None]*r.u)*silu(r.z); E("zoh",r,y,"readout rounded to bf16 before skip")
# 19 Abar rounded to f16
r=Run(b=1,d=4,n=4,L=96); a,h=coeffs("zoh",r.dt(),r.A); y,x=plain("zoh",r,a=a.astype(f16).astype(f4)); E("zoh",r,r.finish(y),"Abar rounded to f16")
# 20 last chunk (partial) uses delta of first positions
r=Run(b=1,d=4,n=4,L=90); dt=r.dt().copy(); dt[...,64:]=dt[...,:26]; y,x=plain("zoh",r,dt=dt); E("zoh",r,r.finish(y),"delta in chunk from 64 on is that of chunk 0")
# 21 batch 1 uses A conj / state not reset + C late
r=Run(b=2,d=3,n=4,L=60); a,h=coeffs("bilinear",r.dt(),r.A); bu=drive(r,h); C=r.full(r.C); C=np.concatenate([C[...,:1],C[...,:-1]],-1); x=scan(a,bu); x1=scan(a[1:],bu[1:],x[:1,...,-1]); x=np.concatenate([x[:1],x1]); E("bilinear",r,r.finish(read(r,x,C)),"state not reset between batches; C late (held)")
# 22 decays of state n+1
r=Run(b=1,d=4,n=4,L=64); a,h=coeffs("zoh",r.dt(),np.roll(r.A,-1,1)); y,x=plain("zoh",r,a=a); E("zoh",r,r.finish(y),"Abar uses A of n+1")
# 23 input decayed in handed state of chunks of 32
r=Run(b=1,d=4,n=6,L=140); a,h=coeffs("bilinear",r.dt(),r.A); bu=drive(r,h); c=np.zeros(a.shape[:3],f4); xs=[]
for i in range(0,r.L,32):
    aa,bb=a[...,i:i+32],bu[...,i:i+32]; xs.append(scan(aa,bb,c)); p=c
    for l in range(aa.shape[-1]): p=aa[...,l]*(p+bb[...,l])
    c=p
E("bilinear",r,r.finish(read(r,np.concatenate(xs,-1),r.full(r.C))),"handed state has inputs decayed by own step")
# 24 circular conv
r=Run(b=1,d=4,n=4,L=64,Bv=False,Cv=False); r.delta=np.broadcast_to(r.delta[...,:1],r.delta.shape).copy(); a,h=coeffs("zoh",r.dt(),r.A); K=(r.C[None,:,:,None]*r.B[None,:,:,None]*h*a[...,:1]**np.arange(64)).sum(2); y=np.fft.irfft(np.fft.rfft(K)*np.fft.rfft(r.u),64); E("zoh",r,r.finish(y.astype(f4)),"circular conv")
# 25 skip u*dt + softplus base 2
r=Run(b=1,d=4,n=4,L=88,softplus=True,skip=True); dt=np.log2(1+np.exp(r.delta)).astype(f4); y,x=plain("zoh",r,dt=dt); E("zoh",r,y+r.D[:,None]*r.u*dt,"softplus base 2 + skip with delta u")
# 26 exclusive at last position of chunks of 32 + taylor3
r=Run(b=1,d=3,n=4,L=128); t=r.dt()[:,:,None,:]; z=t*r.A[None,:,:,None]; a=1+z+z*z/2+z**3/6; a0,h=coeffs("rk4",r.dt(),r.A); bu=drive(r,h); x=scan(a.astype(f4),bu); xx=x.copy(); xx[...,31::32]=x[...,30::32][...,:4]; E("rk4",r,r.finish(read(r,xx,r.full(r.C))),"taylor3 Abar + last of chunk reads before update")
# --- what a seventh set and everyday mistakes left without a name
# 27 heads of two channels share the step of the first
r=Run(b=1,d=6,n=3,L=40,softplus=True); dt=r.dt()[:,np.arange(6)//2*2]; y,x=plain("zoh",r,dt=dt); E("zoh",r,r.finish(y),"delta of the first channel for each head of 2")
# 28 the real part of A is exponentiated
r=Run(b=1,d=3,n=3,L=40,cplx=True); A=r.A; r.A=(-np.exp(A.real)+1j*A.imag).astype(c8); y,x=plain("zoh",r); out=r.finish(y); r.A=A; E("zoh",r,out,"Re A is -exp(Re A)")
# 29 the angle of Abar lacks delta
r=Run(b=1,d=3,n=3,L=40,cplx=True); t=r.dt()[:,:,None,:]; a=np.exp(t*r.A.real[None,:,:,None]+1j*r.A.imag[None,:,:,None]).astype(c8); y,x=plain("zoh",r,a=a); E("zoh",r,r.finish(y),"Im A without delta in Abar")
# 30 D + 1
r=Run(b=1,d=4,n=3,L=40,skip=True,gate=True); y,x=plain("foh",r); E("foh",r,(y+(r.D[:,None]+f4(1))*r.u)*silu(r.z),"skip with D + 1")
# 31 u is added to the whole output
r=Run(b=1,d=4,n=3,L=40,skip=True,gate=True); y,x=plain("zoh",r); E("zoh",r,r.finish(y)+r.u,"u added to the output")
# 32 initial state in the reversed scan, too
r=Run(b=1,d=3,n=3,L=32,init=True); a,h=coeffs("poly",r.dt(),r.A); bu=drive(r,h); x=scan(a,bu,r.x0); xb=scan(a[...,::-1],bu[...,::-1],r.x0)[...,::-1]; C=r.full(r.C); E("poly",r,r.finish(f4(.5)*(read(r,x,C)+read(r,xb,C))),"initial_state in both scans")
# 33 B u in bf16
r=Run(b=1,d=4,n=3,L=48,dtype=bf16); a,h=coeffs("zoh",r.dt(),r.A); v=(r.full(r.B)*r.u.astype(f4)[:,:,None,:]).astype(bf16).astype(f4); E("zoh",r,r.finish(read(r,scan(a,h*v),r.full(r.C))),"B u rounded to bf16")
# 34 packed sequences: the state is reset at 23 and 41
r=Run(b=1,d=4,n=3,L=60); a,h=coeffs("zoh",r.dt(),r.A); a[...,[23,41]]=0; y,x=plain("zoh",r,a=a); E("zoh",r,r.finish(y),"state set to 0 at 23 and 41")
# 35 from position 26 on without the skip
r=Run(b=1,d=4,n=3,L=40,skip=True); y,x=plain("zoh",r); E("zoh",r,y+(np.arange(40)<26).astype(f4)*r.D[:,None]*r.u,"skip missing from 26 on")
# 36 group d / 2 % groups
r=Run(b=1,d=8,n=3,L=32,groups=2); g=(np.arange(8)//2)%2; y,x=plain("zoh",r,Bf=r.full(r.B,g),Cf=r.full(r.C,g)); E("zoh",r,r.finish(y),"group d/2 % groups")
# 37 input times 1.001
r=Run(b=1,d=4,n=3,L=40); y,x=plain("zoh",r,u=(r.u*f4(1.001)).astype(f4)); E("zoh",r,r.finish(y),"u times 1.001",x[...,-1])
# 38 sums of the exponent kept in f16
r=Run(b=1,d=4,n=3,L=40); t=r.dt()[:,:,None,:]; z=t*r.A[None,:,:,None]; s=np.cumsum(z,-1).astype(f16).astype(f4); a=np.exp(np.diff(s,axis=-1,prepend=f4(0))).astype(f4); y,x=plain("zoh",r,a=a); E("zoh",r,r.finish(y),"running sums of the exponent in f16")
json.dump(cases, open(os.path.join(HERE,"cases.json"),"w"), indent=1); print("\n".join(check))
