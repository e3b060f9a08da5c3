python -m skgpb new yield.skgpb --bounds temperature=20:90 salt=1e-4:0.1:log
python -m skgpb ask yield.skgpb
python -m skgpb tell yield.skgpb 0.94
python -m skgpb best yield.skgpb
python -m skgpb plot yield.skgpb
